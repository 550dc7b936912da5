# MLX comes from its PyPI wheel, which carries a CMake package. MLX_DIR (or CMAKE_PREFIX_PATH) names another one. A
# build by pip takes the one that pip installed for it.
if(NOT MLX_DIR AND SKBUILD)
  execute_process(COMMAND ${Python_EXECUTABLE} -m mlx --cmake-dir OUTPUT_STRIP_TRAILING_WHITESPACE
                  OUTPUT_VARIABLE reprise_mlx_package COMMAND_ERROR_IS_FATAL ANY)
  set(MLX_DIR ${reprise_mlx_package}/share/cmake/MLX)
endif()
if(NOT MLX_DIR)
  file(GLOB reprise_mlx_packages
       ${CMAKE_CURRENT_SOURCE_DIR}/build/venv/lib/python3*/site-packages/mlx/share/cmake/MLX)
  if(reprise_mlx_packages)
    list(GET reprise_mlx_packages 0 reprise_mlx_package)
    set(MLX_DIR ${reprise_mlx_package} CACHE PATH "Folder of MLXConfig.cmake")
  endif()
endif()
find_package(MLX 0.32.4 CONFIG REQUIRED)
# Its headers are not ours to warn about.
get_target_property(reprise_mlx_includes mlx INTERFACE_INCLUDE_DIRECTORIES)
set_target_properties(mlx PROPERTIES INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${reprise_mlx_includes}")

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json 3.9 REQUIRED)
if(NOT SKBUILD)
  find_package(CLI11 REQUIRED)
endif()
find_package(PkgConfig REQUIRED)
pkg_check_modules(utf8proc REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(libzip REQUIRED IMPORTED_TARGET libzip)

if(REPRISE_NATIVE)
  find_package(OpenMP REQUIRED COMPONENTS CXX)
  pkg_check_modules(hwy REQUIRED IMPORTED_TARGET libhwy libhwy-contrib)
  # oneDNN from its PyPI wheels, which lie in an environment's own lib folder. dnnl_DIR names another one.
  if(NOT dnnl_DIR)
    file(GLOB reprise_dnnl_packages ${CMAKE_CURRENT_SOURCE_DIR}/build/venv/lib/cmake/dnnl)
    if(reprise_dnnl_packages)
      list(GET reprise_dnnl_packages 0 reprise_dnnl_package)
      set(dnnl_DIR ${reprise_dnnl_package} CACHE PATH "Folder of dnnl-config.cmake")
    endif()
  endif()
  find_package(dnnl 3.2 CONFIG REQUIRED)
endif()
