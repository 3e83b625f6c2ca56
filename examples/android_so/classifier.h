// Functions of the app's library. JNI functions call these, as docs/guides/android.md shows.
#ifndef CLASSIFIER_H_
#define CLASSIFIER_H_

#pragma GCC visibility push(default)

// Makes the model. Returns 0, or a status of the network.
int classifier_create(void);

// Classifies an image of 3*32*32 floats into 10 logits. One thread calls it at a time.
int classifier_run(const float* image, float* logits);

// Frees the model.
void classifier_destroy(void);

#pragma GCC visibility pop
#endif  // CLASSIFIER_H_
