// A libcuda.so.1 in whose process somebody has made a context on GPU 0.
extern "C" __attribute__((visibility("default"))) int cuDeviceGetCount(int* count) {
  *count = 1;
  return 0;
}

extern "C" __attribute__((visibility("default"))) int cuDevicePrimaryCtxGetState(int, unsigned* flags, int* active) {
  *flags = 0;
  *active = 1;
  return 0;
}
