// attn-regress: the regression gate for attention in CI.

#include "cli/program.hpp"

int main(int argc, char** argv) { return attn::run_program({argv, argv + argc}); }
