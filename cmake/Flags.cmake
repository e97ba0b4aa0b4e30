# SPDX-License-Identifier: GPL-2.0-or-later
# Language level and warnings of the whole project. -Werror comes from the presets only.
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

set(STALLRIG_WARNINGS
  -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition
  -Wpointer-arith -Wcast-qual -Wcast-align -Wwrite-strings -Wundef -Wvla -Wformat=2
  -Wimplicit-fallthrough -Wswitch-enum -Wnull-dereference -Wconversion -Wsign-conversion)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  list(APPEND STALLRIG_WARNINGS -Wlogical-op -Wduplicated-cond -Wduplicated-branches
    -Wno-format-truncation)
endif()
add_compile_options(${STALLRIG_WARNINGS})
add_compile_definitions(_GNU_SOURCE)

option(STALLRIG_SANITIZE "AddressSanitizer and UndefinedBehaviorSanitizer" OFF)
option(STALLRIG_HARDEN "hardening flags of a release build" OFF)
if(STALLRIG_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-omit-frame-pointer
    -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=address,undefined)
endif()
if(STALLRIG_HARDEN)
  add_compile_options(-fstack-protector-strong -fstack-clash-protection)
  add_compile_definitions(_FORTIFY_SOURCE=2)
  add_link_options(-Wl,-z,relro,-z,now)
endif()
