// A library that is not FastRPC.
extern "C" int nothing() { return 0; }
