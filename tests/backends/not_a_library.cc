// build: text
// This very text, named as a shared library.
// expect: suite=plain status=unsupported reason="ELF|invalid|too short"
