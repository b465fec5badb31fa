# One function per kind of target, so that a module's CMakeLists.txt states its
# place in the layering and nothing else.

add_library(attn_options INTERFACE)
target_compile_options(attn_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
  -Wno-restrict>  # GCC 12 sees overlaps in string concatenation that are none (GCC bug 105651)
  $<$<COMPILE_LANGUAGE:CUDA>:-Wno-deprecated-gpu-targets -Xcompiler=-Wall,-Wextra,-Wno-unused-parameter>)
if(ATTN_WERROR)
  target_compile_options(attn_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()

# attn_prefer_static(VARIABLE archive library)
#   The archive when the machine has it, so that an installed program runs on another distribution's machine; else the library.
function(attn_prefer_static variable archive library)
  find_library(ATTN_${archive} ${archive})
  mark_as_advanced(ATTN_${archive})
  if(ATTN_${archive})
    set(${variable} ${ATTN_${archive}} PARENT_SCOPE)
  else()
    set(${variable} ${library} PARENT_SCOPE)
  endif()
endfunction()

# attn_module(NAME [USES module...] [LINK library...])
#   A folder of harness/ = a layer. USES names the layers it may include;
#   tests/lint proves that the includes agree. Every *.cpp of the folder is compiled, and with a CUDA toolkit every *.cu;
#   files named gpu_* exist with a toolkit only.
function(attn_module name)
  cmake_parse_arguments(PARSE_ARGV 1 module "" "" "USES;LINK")
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(ATTN_CUDA)
    file(GLOB kernels CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cu)
    list(APPEND sources ${kernels})
  else()
    list(FILTER sources EXCLUDE REGEX "/gpu_[^/]*$")
  endif()
  list(TRANSFORM module_USES PREPEND attn_)
  if(sources)
    add_library(attn_${name} STATIC ${sources})
    target_link_libraries(attn_${name} PUBLIC ${module_USES} ${module_LINK} PRIVATE attn_options)
    target_include_directories(attn_${name} PUBLIC ${PROJECT_SOURCE_DIR}/harness)
    list(LENGTH sources count)
    if(module_USES AND count GREATER 3)
      # The headers that cost most, parsed once a module.
      target_precompile_headers(attn_${name} PRIVATE <fmt/format.h> <map> <nlohmann/json.hpp> <optional> <string> <vector>)
    endif()
  else()
    add_library(attn_${name} INTERFACE)
    target_link_libraries(attn_${name} INTERFACE ${module_USES} ${module_LINK})
    target_include_directories(attn_${name} INTERFACE ${PROJECT_SOURCE_DIR}/harness)
  endif()
endfunction()

set(ATTN_PLUGIN_EXPORTS ${CMAKE_CURRENT_LIST_DIR}/plugin.map)

# attn_plugin(NAME SOURCE [LINK library...] [DESTINATION dir])
#   A shared library that exports the one symbol of the C ABI and nothing else.
function(attn_plugin name source)
  cmake_parse_arguments(PARSE_ARGV 2 plugin "" "DESTINATION" "LINK")
  if(NOT plugin_DESTINATION)
    set(plugin_DESTINATION ${ATTN_BACKEND_DIRECTORY})
  endif()
  add_library(${name} MODULE ${source})
  target_link_libraries(${name} PRIVATE attn_abi attn_options ${plugin_LINK})
  # The version script also hides libstdc++'s unique symbols, which would join two plugins' copies and keep a closed plugin loaded.
  target_link_options(${name} PRIVATE -static-libstdc++ -static-libgcc -Wl,--exclude-libs,ALL -Wl,--version-script=${ATTN_PLUGIN_EXPORTS})
  set_target_properties(${name} PROPERTIES LINK_DEPENDS ${ATTN_PLUGIN_EXPORTS})
  set_target_properties(${name} PROPERTIES PREFIX "lib" LIBRARY_OUTPUT_DIRECTORY ${plugin_DESTINATION})
endfunction()
