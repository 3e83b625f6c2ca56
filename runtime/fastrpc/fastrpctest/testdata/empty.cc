// A library that is none of FastRPC.
extern "C" int nothing() { return 0; }
