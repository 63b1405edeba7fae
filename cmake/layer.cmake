# engine_layer(NAME DIRS dir... [EXCLUDE regex] [LINK library...])
# The object library layer_NAME from dir/*.cpp. The include root is the repository root. Files whose
# names end in an instruction set are compiled for it; everything else is baseline x86-64:
#   *_avx2.cpp         x86-64-v3
#   *_avx512bf16.cpp   x86-64-v4 with bf16 and VNNI
# Such a file must define no inline function of external linkage: the linker might take that copy
# for the whole program (tests/check_layers.py looks at the objects).
# gcc 12 takes the deliberately undefined operands in its own immintrin.h for mistakes of ours.
set(avx512_options -march=x86-64-v4 -mavx512bf16 -mavx512vnni)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND avx512_options -Wno-uninitialized -Wno-maybe-uninitialized)
endif()

function(engine_layer name)
  cmake_parse_arguments(arg "" "EXCLUDE" "DIRS;LINK" ${ARGN})
  list(TRANSFORM arg_DIRS APPEND "/*.cpp" OUTPUT_VARIABLE patterns)
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  if(arg_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "${arg_EXCLUDE}")
  endif()
  if(NOT sources)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/empty.cpp CONTENT "")
    set(sources ${PROJECT_BINARY_DIR}/empty.cpp)
  endif()
  set(target layer_${name})
  add_library(${target} OBJECT ${sources})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE engine_flags ${arg_LINK})
  foreach(source IN LISTS sources)
    if(source MATCHES "_avx2\\.cpp$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "-march=x86-64-v3")
    elseif(source MATCHES "_avx512bf16\\.cpp$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${avx512_options}")
    endif()
  endforeach()
  add_dependencies(${target} engine_proto_objects)
  set_property(GLOBAL APPEND PROPERTY ENGINE_LAYERS ${target})
  set_property(GLOBAL APPEND PROPERTY ENGINE_OBJECTS $<TARGET_OBJECTS:${target}>)
  set_property(GLOBAL APPEND PROPERTY ENGINE_LINK ${arg_LINK})
endfunction()
