# Looks for nvcc anew at every configure, so a toolkit installed later is picked up.
find_program(ATTN_NVCC nvcc HINTS $ENV{CUDA_HOME}/bin $ENV{CUDA_PATH}/bin /usr/local/cuda/bin NO_CACHE)
if(ATTN_NVCC)
  message(STATUS "attn-regress: nvcc found (${ATTN_NVCC}); this version has CPU backends only, so the build is CPU-only")
else()
  message(STATUS "attn-regress: no nvcc found; the build is CPU-only")
endif()
