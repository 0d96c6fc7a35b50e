# By what the ranks of one worker can meet: c10d's backends, whose headers need those of Gloo and NCCL,
# which LibTorch does not bring along. With neither, a worker has one device. Sets INTERLUDE_WITH_GLOO
# and INTERLUDE_WITH_NCCL, for all folders, and their INTERLUDE_..._INCLUDE_DIR.
include(CheckCXXSourceCompiles)

# Sets `variable` to whether LibTorch was built with the backend whose class has a function void
# FUNCTION(). Without c10d's own headers, which take half a minute to compile.
function(interlude_torch_has variable class function)
  set(CMAKE_REQUIRED_LIBRARIES ${TORCH_LIBRARIES})
  set(CMAKE_REQUIRED_QUIET TRUE)
  check_cxx_source_compiles("namespace c10d { struct ${class} { static void ${function}(); }; }
                             int main() { c10d::${class}::${function}(); }" ${variable})
endfunction()

interlude_torch_has(INTERLUDE_TORCH_HAS_GLOO ProcessGroupGloo createDefaultDevice)
find_path(INTERLUDE_GLOO_INCLUDE_DIR gloo/context.h DOC "Gloo's headers (libgloo-dev)")
interlude_torch_has(INTERLUDE_TORCH_HAS_NCCL ProcessGroupNCCL groupStart)
find_path(INTERLUDE_NCCL_INCLUDE_DIR nccl.h
          HINTS ${CUDA_INCLUDE_DIRS} "${TORCH_INSTALL_PREFIX}/../nvidia/nccl/include"
          DOC "NCCL's header (libnccl-dev, or nvidia/nccl beside a torch that pip installed)")
foreach(backend GLOO NCCL)
  set(with OFF)
  if(INTERLUDE_TORCH_HAS_${backend} AND INTERLUDE_${backend}_INCLUDE_DIR)
    set(with ON)
  endif()
  set(INTERLUDE_WITH_${backend} ${with} CACHE INTERNAL "Whether ranks can meet through it")
endforeach()
