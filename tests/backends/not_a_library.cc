// build: text
// This very text, named as a shared library.
// expect: suite=plain status=unsupported reason="invalid ELF header"
// expect: suite=plain how=option status=unsupported reason="invalid ELF header"
// list: mutant +unsupported.*invalid ELF header
