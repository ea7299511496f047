# find_package(lathe): the program lathe, as LATHE_EXECUTABLE, and a library of a model:
#
#   lathe_add_model(NAME MODEL FILE [WEIGHTS FILE] [TOKENIZER FILE] [GRAMMAR FILE] [INSTRUCTIONS T] [INCBIN] [OPTIONS OPTION...])
#
# makes the library NAME, for target_link_libraries(), of what `lathe build` writes: NAME.h is included, functions begin with NAME_.
# The weight file is its property LATHE_WEIGHTS; with INCBIN it is in the library, for gcc and clang.
# MODEL: a model file, or a published model as `lathe build` takes it.  Paths are relative to the current source folder.
# INSTRUCTIONS: a target of `lathe targets` (default portable: all of this processor's architecture, chosen at init).
# OPTIONS: others of `lathe build`, as --quant q8_0 or -D context=512.
# The C is written anew when a file that it is made of changes.  Wants CMake 3.20.
cmake_minimum_required(VERSION 3.20)

# beside an installed lathe-config.cmake, else in PATH
get_filename_component(_lathe_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
find_program(LATHE_EXECUTABLE lathe HINTS "${_lathe_prefix}/bin" DOC "the program lathe")
if(NOT LATHE_EXECUTABLE)
  set(lathe_FOUND FALSE)
  set(lathe_NOT_FOUND_MESSAGE "there is no program lathe; -DLATHE_EXECUTABLE=FILE names it")
  return()
endif()

# a project may be of C++ only, but models are C
enable_language(C)

# The compiler's flags for a target, by `lathe targets`.
function(_lathe_flags instructions result)
  execute_process(COMMAND "${LATHE_EXECUTABLE}" targets --json OUTPUT_VARIABLE list COMMAND_ERROR_IS_FATAL ANY)
  string(JSON last LENGTH "${list}")
  math(EXPR last "${last} - 1")
  set(names)
  foreach(i RANGE ${last})
    string(JSON name GET "${list}" ${i} name)
    string(JSON runs ERROR_VARIABLE none GET "${list}" ${i} runs)
    list(APPEND names "${name}")
    if(name STREQUAL instructions OR (instructions STREQUAL "native" AND "${runs}" STREQUAL "native"))
      string(JSON flags GET "${list}" ${i} flags)
      separate_arguments(flags UNIX_COMMAND "${flags}")
      set(${result} "${flags}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  list(JOIN names ", " names)
  message(FATAL_ERROR "lathe_add_model: INSTRUCTIONS ${instructions} is no target of lathe: ${names}, native")
endfunction()

function(lathe_add_model name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "INCBIN" "MODEL;WEIGHTS;TOKENIZER;GRAMMAR;INSTRUCTIONS" "OPTIONS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "lathe_add_model(${name}): ${arg_UNPARSED_ARGUMENTS} is not one of its arguments")
  endif()
  if(NOT arg_MODEL)
    message(FATAL_ERROR "lathe_add_model(${name}): MODEL is missing")
  endif()
  if(NOT arg_INSTRUCTIONS)
    set(arg_INSTRUCTIONS portable)
  endif()
  _lathe_flags("${arg_INSTRUCTIONS}" flags)
  get_filename_component(model "${arg_MODEL}" ABSOLUTE)
  set(command "${LATHE_EXECUTABLE}" build "${model}" --prefix ${name} --target ${arg_INSTRUCTIONS})
  set(inputs "${model}")
  foreach(kind WEIGHTS TOKENIZER GRAMMAR)
    if(NOT arg_${kind})
      continue()
    endif()
    string(TOLOWER ${kind} option)
    get_filename_component(file "${arg_${kind}}" ABSOLUTE)
    if(kind STREQUAL "GRAMMAR" AND NOT EXISTS "${file}") # one that lathe has, as json
      set(file "${arg_GRAMMAR}")
    else()
      list(APPEND inputs "${file}")
    endif()
    list(APPEND command --${option} "${file}")
  endforeach()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/lathe-${name}")
  file(MAKE_DIRECTORY "${folder}")
  set(weights "${folder}/${name}.weights")
  if(arg_INCBIN)
    list(APPEND command --incbin)
    set(weights "${folder}/${name}.c.weights")
  endif()
  add_custom_command(
    OUTPUT "${folder}/${name}.c" "${folder}/${name}.h" "${weights}"
    COMMAND ${command} ${arg_OPTIONS} --depfile "${folder}/${name}.d" -o "${folder}/${name}.c"
    DEPENDS ${inputs}
    DEPFILE "${folder}/${name}.d"
    COMMENT "lathe builds ${name}"
    VERBATIM)
  add_library(${name} STATIC "${folder}/${name}.c" "${folder}/${name}.h")
  set_source_files_properties("${folder}/${name}.c" PROPERTIES OBJECT_DEPENDS "${weights}")
  set_target_properties(${name} PROPERTIES C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${name} PRIVATE ${flags} $<$<CONFIG:>:-O2>)
  target_include_directories(${name} PUBLIC "${folder}")
  set(THREADS_PREFER_PTHREAD_FLAG ON)
  find_package(Threads REQUIRED)
  target_link_libraries(${name} PUBLIC Threads::Threads)
  if(NOT arg_INCBIN)
    set_target_properties(${name} PROPERTIES LATHE_WEIGHTS "${weights}")
  endif()
endfunction()
