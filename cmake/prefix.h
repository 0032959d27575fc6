// The standard headers that nearly every source reads, compiled once (precompiled headers): parsing them is most of
// what a compile costs. Sources still include what they use; a build with -DPLIMSOLL_PREFIX=OFF holds them to it.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <coroutine>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>
