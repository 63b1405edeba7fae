# The CUDA kernels. Without a GPU they run in the simulator (kernels/cuda/sim): as host C++ everywhere, and as
# nvcc's PTX translated to C++ where nvcc is there. tests/cuda/run.py runs what is built here.
option(ENGINE_CUDA "build the CUDA kernels for the simulator, and their tests" ON)
if(NOT ENGINE_CUDA OR NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  return()
endif()

# --- The simulator, and the host functions of the backend: which kernel, how launched.
file(GLOB cuda_sim_sources CONFIGURE_DEPENDS kernels/cuda/sim/*.cpp)
add_library(cuda_sim STATIC EXCLUDE_FROM_ALL ${cuda_sim_sources} ir/error.cpp)
file(GLOB cuda_host_sources CONFIGURE_DEPENDS kernels/cuda/*.cpp)
add_library(cuda_host STATIC EXCLUDE_FROM_ALL ${cuda_host_sources})
foreach(library cuda_sim cuda_host)
  target_include_directories(${library} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${library} PRIVATE engine_flags)
endforeach()
find_package(Threads REQUIRED)
target_link_libraries(cuda_sim PUBLIC Threads::Threads)
# Tests that fault are found by line.
target_compile_options(cuda_sim PRIVATE -g1)

if(DEFINED ENGINE_TESTS AND NOT ENGINE_TESTS)
  return()
endif()
find_package(doctest REQUIRED CONFIG)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
find_program(ENGINE_NVCC nvcc HINTS $ENV{CUDA_HOME}/bin /usr/local/cuda/bin)
if(NOT ENGINE_NVCC)
  message(STATUS "nvcc not found: the CUDA kernels are tested as host C++ only")
endif()
set(cuda_tests_dir ${PROJECT_BINARY_DIR}/tests_cuda)
file(MAKE_DIRECTORY ${cuda_tests_dir})

# Accesses of kernels are reported to the simulator through this instrumentation; the sanitizer itself is not linked.
# Other sanitizers do not go with it.
set(cuda_instrumentation -fsanitize=thread)
if(CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  set(cuda_instrumentation "")
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND cuda_instrumentation "SHELL:--param tsan-instrument-func-entry-exit=0")
endif()

add_library(cuda_test_main OBJECT EXCLUDE_FROM_ALL tests/cuda/main.cpp)
target_link_libraries(cuda_test_main PRIVATE doctest::doctest)
target_compile_options(cuda_test_main PRIVATE -O0)

# cuda_test(NAME KERNELS file.cu TEST file.cpp [PTX_ONLY regex] [NO_DOCTEST])
# cuda_NAME_test runs the kernels as host C++, and cuda_NAME_ptx_test, with nvcc, those whose names match as translated PTX.
function(cuda_test name)
  cmake_parse_arguments(arg "NO_DOCTEST" "KERNELS;TEST;PTX_ONLY" "" ${ARGN})
  set(libraries engine_flags cuda_host cuda_sim)
  set(objects "")
  if(NOT arg_NO_DOCTEST)
    list(APPEND libraries doctest::doctest)
    set(objects $<TARGET_OBJECTS:cuda_test_main>)
  endif()

  add_library(cuda_${name}_kernels OBJECT EXCLUDE_FROM_ALL ${arg_KERNELS})
  set_source_files_properties(${arg_KERNELS} PROPERTIES LANGUAGE CXX)
  target_include_directories(cuda_${name}_kernels PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(cuda_${name}_kernels PRIVATE engine_flags)
  target_compile_options(cuda_${name}_kernels PRIVATE -O1 -g1 ${cuda_instrumentation})

  add_executable(cuda_${name}_test EXCLUDE_FROM_ALL ${arg_TEST} ${objects}
                 $<TARGET_OBJECTS:cuda_${name}_kernels>)
  target_link_libraries(cuda_${name}_test PRIVATE ${libraries})
  target_compile_options(cuda_${name}_test PRIVATE -O1 -g1)
  set_target_properties(cuda_${name}_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${cuda_tests_dir})
  set_property(GLOBAL APPEND PROPERTY ENGINE_CUDA_TESTS cuda_${name}_test)
  if(NOT ENGINE_NVCC)
    return()
  endif()

  cmake_path(GET arg_KERNELS STEM stem)
  set(ptx ${cuda_tests_dir}/${stem}.ptx)
  set(cpp ${cuda_tests_dir}/${stem}_ptx.cpp)
  add_custom_command(OUTPUT ${ptx}
    COMMAND ${ENGINE_NVCC} -std=c++20 -arch=sm_80 -ptx -I${PROJECT_SOURCE_DIR} -MD -MF ${ptx}.d -MT ${ptx}
            -o ${ptx} ${PROJECT_SOURCE_DIR}/${arg_KERNELS}
    DEPENDS ${PROJECT_SOURCE_DIR}/${arg_KERNELS} DEPFILE ${ptx}.d VERBATIM)
  set(only "")
  if(arg_PTX_ONLY)
    set(only --only ${arg_PTX_ONLY})
  endif()
  add_custom_command(OUTPUT ${cpp}
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/ptx2cpp.py ${ptx} ${cpp} ${only}
    DEPENDS ${ptx} ${PROJECT_SOURCE_DIR}/tools/ptx2cpp.py VERBATIM)
  add_executable(cuda_${name}_ptx_test EXCLUDE_FROM_ALL ${arg_TEST} ${objects} ${cpp})
  target_link_libraries(cuda_${name}_ptx_test PRIVATE ${libraries})
  target_compile_definitions(cuda_${name}_ptx_test PRIVATE ENGINE_TEST_PTX ENGINE_TEST_FEW_KERNELS)
  target_compile_options(cuda_${name}_ptx_test PRIVATE -O1)
  set_source_files_properties(${cpp} PROPERTIES COMPILE_OPTIONS "-w")
  set_target_properties(cuda_${name}_ptx_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${cuda_tests_dir})
  set_property(GLOBAL APPEND PROPERTY ENGINE_CUDA_TESTS cuda_${name}_ptx_test)
endfunction()

cuda_test(sim KERNELS tests/cuda/sim_kernels.cu TEST tests/cuda/sim_test.cpp)
cuda_test(primitives NO_DOCTEST KERNELS tests/cuda/primitives.cu TEST tests/cuda/primitives_test.cpp)
cuda_test(flash_prefill KERNELS kernels/cuda/flash_prefill.cu TEST tests/cuda/flash_prefill_test.cpp
          PTX_ONLY "flashPrefill(F16W64|BF16W128)")
cuda_test(flash_decode KERNELS kernels/cuda/flash_decode.cu TEST tests/cuda/flash_decode_test.cpp
          PTX_ONLY "flashDecode(F16W64|BF16W128|F16I8W64|Merge.*)")

get_property(cuda_tests GLOBAL PROPERTY ENGINE_CUDA_TESTS)
add_custom_target(cuda_tests ALL DEPENDS ${cuda_tests})
list(JOIN cuda_tests "\n" cuda_test_names)
file(WRITE ${cuda_tests_dir}/tests.txt "${cuda_test_names}\n")  # what run.py expects to find
