# The CUDA toolkit, looked for anew at every configure, so that one installed later is picked up. Sets ATTN_CUDA; without a toolkit the build measures CPUs only.
option(ATTN_GPU "Measure GPUs too, where there is a CUDA toolkit" ON)
set(ATTN_CUDA OFF)
if(NOT ATTN_GPU)
  message(STATUS "attn-regress: ATTN_GPU is off; the build measures CPUs only")
  return()
endif()
find_program(ATTN_NVCC nvcc HINTS $ENV{CUDA_HOME}/bin $ENV{CUDA_PATH}/bin /usr/local/cuda/bin NO_CACHE)
if(NOT ATTN_NVCC)
  message(STATUS "attn-regress: no nvcc found; the build measures CPUs only")
  return()
endif()

# PTX for everything from Turing on, machine code where most GPU runners are. A kernel that needs more names its own ("// arch: 90a").
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 75-virtual 80-real 90-real)
endif()
set(CMAKE_CUDA_COMPILER ${ATTN_NVCC})
enable_language(CUDA)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25.1 does not know that nvcc has C++20 since 12.0
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
find_package(CUDAToolkit REQUIRED)
find_path(ATTN_CUPTI_INCLUDE cupti.h HINTS ${CUDAToolkit_INCLUDE_DIRS} ${CUDAToolkit_LIBRARY_ROOT}/extras/CUPTI/include NO_CACHE)
if(NOT ATTN_CUPTI_INCLUDE)
  message(STATUS "attn-regress: nvcc found (${ATTN_NVCC}), but not CUPTI's headers (package cuda-cupti-dev); the build measures CPUs only")
  return()
endif()
set(ATTN_CUDA ON)
message(STATUS "attn-regress: CUDA ${CUDAToolkit_VERSION} (${ATTN_NVCC}); the build measures CPUs and GPUs")

# The runtime, linked statically: it opens the driver's library when it is first used, so that what links it starts on any machine.
add_library(attn_cuda INTERFACE)
target_link_libraries(attn_cuda INTERFACE CUDA::cudart_static)
# fmt 9 takes nvcc for a compiler without constexpr, and then its own checks of format strings do not compile.
target_compile_options(attn_cuda INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr -DFMT_USE_CONSTEXPR=1>)
