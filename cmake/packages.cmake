# Everything found outside the tree, wrapped so that a layer links exactly what it may include.
# The virtual environment holds the onnx wheel (onnx-ml.proto) and the oneDNN wheel (CMake package).
set(ENGINE_VENV "${PROJECT_SOURCE_DIR}/.venv" CACHE PATH "virtual environment with onnx and oneDNN")

find_package(LLVM REQUIRED CONFIG)
list(FILTER CMAKE_MODULE_PATH EXCLUDE REGEX "llvm")  # LLVMConfig puts its own Find*.cmake first
find_package(dnnl 3 REQUIRED CONFIG HINTS ${ENGINE_VENV})
find_package(Protobuf REQUIRED MODULE)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(PkgConfig REQUIRED)
pkg_check_modules(LIBZIP REQUIRED IMPORTED_TARGET libzip)  # libzip's CMake package demands its tools
find_package(CLI11 REQUIRED CONFIG)
find_package(nlohmann_json REQUIRED CONFIG)
find_package(hwy REQUIRED CONFIG)
message(STATUS "LLVM ${LLVM_PACKAGE_VERSION}, oneDNN ${dnnl_VERSION}, "
               "protobuf ${Protobuf_VERSION}, libzip ${LIBZIP_VERSION}")

# LLVM's containers: headers, and only the static Support archive (never libLLVM.so).
add_library(engine_adt INTERFACE)
separate_arguments(llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
target_include_directories(engine_adt SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
target_compile_definitions(engine_adt INTERFACE ${llvm_definitions})
target_link_libraries(engine_adt INTERFACE LLVMSupport)

# Highway chooses the instruction set at run time, SSE4 at least. Its slower targets only cost compile
# time, and the baseline has to be named because Highway would take plain x86-64 for scalar.
add_library(engine_simd INTERFACE)
target_compile_definitions(engine_simd INTERFACE
  HWY_BASELINE_TARGETS=HWY_SSE4 "HWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_SCALAR|HWY_EMU128)")
target_link_libraries(engine_simd INTERFACE hwy::hwy)

# The ONNX schema, compiled as protobuf-lite.
file(GLOB onnx_dirs ${ENGINE_VENV}/lib*/python3*/site-packages/onnx)
find_file(ONNX_PROTO onnx-ml.proto HINTS ${onnx_dirs} /usr/include/onnx)
if(NOT ONNX_PROTO)
  message(FATAL_ERROR "onnx-ml.proto not found: run ./setup.sh, which installs the onnx package "
                      "into .venv, or pass -DONNX_PROTO=FILE")
endif()
cmake_path(GET ONNX_PROTO PARENT_PATH onnx_proto_dir)
set(proto_dir ${PROJECT_BINARY_DIR}/proto)
file(MAKE_DIRECTORY ${proto_dir})
add_custom_command(OUTPUT ${proto_dir}/onnx-ml.pb.cc ${proto_dir}/onnx-ml.pb.h
  COMMAND protobuf::protoc --cpp_out=lite:${proto_dir} -I ${onnx_proto_dir} ${ONNX_PROTO}
  DEPENDS ${ONNX_PROTO} VERBATIM)
add_library(engine_proto_objects OBJECT ${proto_dir}/onnx-ml.pb.cc ${proto_dir}/onnx-ml.pb.h)
target_include_directories(engine_proto_objects SYSTEM PRIVATE ${proto_dir})
target_compile_options(engine_proto_objects PRIVATE -w -ffunction-sections -fdata-sections)
target_link_libraries(engine_proto_objects PRIVATE protobuf::libprotobuf-lite)
add_library(engine_proto INTERFACE)
target_include_directories(engine_proto SYSTEM INTERFACE ${proto_dir})
target_link_libraries(engine_proto INTERFACE protobuf::libprotobuf-lite)
set_property(GLOBAL APPEND PROPERTY ENGINE_OBJECTS $<TARGET_OBJECTS:engine_proto_objects>)
