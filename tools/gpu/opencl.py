"""Runs a command that finds OpenCL on a machine where the library has no usual name, or knows of no driver: python3 opencl.py COMMAND..."""
import os, subprocess, sys, tempfile


def platforms(path):
    """How many platforms an OpenCL library knows, seen by a process of its own; 0 where there is no such library."""
    code = "import ctypes as C; n = C.c_uint(); l = C.CDLL(%r); e = l.clGetPlatformIDs(0, None, C.byref(n)); print(0 if e else n.value)" % path
    try:
        return int(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=250).stdout)
    except subprocess.SubprocessError:
        return 0


def find(folder):
    """Sets the environment of programs so that they find OpenCL; files for that go to the folder."""
    os.environ["CUDA_MPS_PIPE_DIRECTORY"] = os.path.join(folder, "none")  # as a client of MPS the driver has no OpenCL
    driver = os.path.join(folder, "nvidia.icd")
    open(driver, "w").write("libnvidia-opencl.so.1\n")
    for vendors in ("", folder):
        if vendors:
            os.environ["OCL_ICD_VENDORS"] = vendors
        for path in ("libOpenCL.so.1", "/usr/local/nvidia/lib64/libOpenCL.so.1", "/usr/local/cuda/lib64/libOpenCL.so.1",
                     "/usr/lib/x86_64-linux-gnu/libnvidia-opencl.so.1", "/usr/local/nvidia/lib64/libnvidia-opencl.so.1"):
            if not platforms(path):
                continue
            print("OpenCL:", path, vendors, flush=True)
            if path != "libOpenCL.so.1":
                os.symlink(path, os.path.join(folder, "libOpenCL.so.1"))
                os.environ["LD_LIBRARY_PATH"] = folder + ":" + os.environ.get("LD_LIBRARY_PATH", "")
            return
    print("no OpenCL library knows a platform", flush=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        find(folder)
        sys.exit(subprocess.call(sys.argv[1:]))
