#ifndef ANSWER_H_
#define ANSWER_H_

// Runs the network on rows of four numbers. Returns nullptr, or an error message.
const char* Answer(const float* x, int rows, float* y);

#endif  // ANSWER_H_
