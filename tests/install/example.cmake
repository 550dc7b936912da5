# BUILD is what to install, SOURCE the example; everything happens in WORK.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    string(REPLACE ";" " " command "${ARGN}")
    message(FATAL_ERROR "${command}\ngave ${result}:\n${output}")
  endif()
  set(output ${output} PARENT_SCOPE)
endfunction()

# A moved prefix must work as well as the one that was installed to.
file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/first)
file(RENAME ${WORK}/first ${WORK}/prefix)

run(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/hello -G ${GENERATOR} -DCMAKE_PREFIX_PATH=${WORK}/prefix
    -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_CXX_FLAGS=${FLAGS} -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER})
run(${CMAKE_COMMAND} --build ${WORK}/hello)
run(${WORK}/hello/hello)
foreach(line "is 0.76159" "is 0.96402" "2 runs, 1 specialisation")
  string(FIND "${output}" "${line}" place)
  if(place EQUAL -1)
    message(FATAL_ERROR "the example did not print '${line}': ${output}")
  endif()
endforeach()

# The libraries in use are the installed ones, found without help; a program names those that it calls into.
function(check_libraries program)
  run(ldd ${program})
  if(output MATCHES "not found" OR (output MATCHES "libreprise" AND NOT output MATCHES "${WORK}/prefix/[^\n]*libreprise"))
    message(FATAL_ERROR "${program} finds other libraries than the installed ones:\n${output}")
  endif()
endfunction()
check_libraries(${WORK}/hello/hello)
check_libraries(${WORK}/prefix/bin/reprise)
run(${WORK}/prefix/bin/reprise --help)
