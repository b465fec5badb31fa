// build: empty
// A file without a byte, named as a shared library.
// expect: suite=plain status=unsupported reason="too short|empty"
