# A room of the house (docs/architecture.md) is one static library that links only the rooms below it.
#
#   plimsoll_room(NAME ROOMS <rooms it may call> LIBRARIES <outside libraries>)
#
# takes every .cc of its folder; every *_test.cc becomes part of the test program NAME_test.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
if(PLIMSOLL_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()

function(plimsoll_room name)
  cmake_parse_arguments(ROOM "" "" "ROOMS;LIBRARIES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  set(test_sources ${sources})
  list(FILTER sources EXCLUDE REGEX "(_test|/main)\\.cc$")
  list(FILTER test_sources INCLUDE REGEX "_test\\.cc$")
  list(TRANSFORM ROOM_ROOMS PREPEND plimsoll_)

  if(sources)
    add_library(plimsoll_${name} STATIC ${sources})
    target_include_directories(plimsoll_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(plimsoll_${name} PUBLIC ${ROOM_ROOMS} ${ROOM_LIBRARIES} Threads::Threads)
  else()
    add_library(plimsoll_${name} INTERFACE)
    target_include_directories(plimsoll_${name} INTERFACE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(plimsoll_${name} INTERFACE ${ROOM_ROOMS} ${ROOM_LIBRARIES} Threads::Threads)
  endif()

  if(PLIMSOLL_TESTS AND test_sources)
    add_executable(${name}_test ${test_sources})
    target_include_directories(${name}_test PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src)
    target_compile_definitions(${name}_test PRIVATE
      PLIMSOLL_SOURCE_DIR="${PROJECT_SOURCE_DIR}" PLIMSOLL_BINARY_DIR="${PROJECT_BINARY_DIR}")
    target_link_libraries(${name}_test PRIVATE plimsoll_${name} plimsoll_test_support GTest::gtest GTest::gtest_main)
    gtest_discover_tests(${name}_test DISCOVERY_MODE PRE_TEST TEST_PREFIX "${name}." PROPERTIES TIMEOUT 120)
  endif()
endfunction()
