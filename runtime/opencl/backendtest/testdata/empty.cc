// A library without functions.
extern "C" int nothing_of_opencl;
int nothing_of_opencl = 0;
