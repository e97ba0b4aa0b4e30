# SPDX-License-Identifier: GPL-2.0-or-later
# stallrig_room(NAME USES LIB... [WITHOUT FILE...]): controller/NAME/*.c as one static library with
# its own include folder.
function(stallrig_room name)
  cmake_parse_arguments(ROOM "" "" "USES;WITHOUT" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/controller/${name}/*.c)
  list(FILTER sources EXCLUDE REGEX "/main\\.c$") # a program's, so that tests can have their own
  foreach(file ${ROOM_WITHOUT})
    list(REMOVE_ITEM sources ${PROJECT_SOURCE_DIR}/controller/${name}/${file})
  endforeach()
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/controller/${name}/include)
  target_link_libraries(${name} PUBLIC ${ROOM_USES})
  target_compile_definitions(${name} PRIVATE
    STALLRIG_DATA_DIR="${PROJECT_SOURCE_DIR}" STALLRIG_BUILD_DIR="${CMAKE_BINARY_DIR}"
    STALLRIG_VERSION="${PROJECT_VERSION}")
endfunction()
