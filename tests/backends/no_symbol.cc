// A shared library that exports no backends.
// expect: suite=plain status=unsupported reason="attn_backends"
#include "good.hpp"

extern "C" ATTN_EXPORT int something_else(void) { return 1; }
