"""The little of OpenCL that measuring needs, by ctypes."""
import ctypes as C, ctypes.util, time
def load():
    for n in ("libOpenCL.so.1", "libOpenCL.so", "libnvidia-opencl.so.1", "/usr/local/nvidia/lib64/libOpenCL.so.1", "/usr/local/nvidia/lib64/libnvidia-opencl.so.1", "/usr/local/cuda/lib64/libOpenCL.so.1"):
        try:
            l = C.CDLL(n)
            print("loaded", n); return l
        except OSError as e: err = e
    raise err
class CL:
    def __init__(s):
        s.l = l = load()
        P = C.c_void_p
        for n in ("clCreateContext","clCreateCommandQueue","clCreateProgramWithSource","clCreateKernel","clCreateBuffer"):
            getattr(l,n).restype = P
        n = C.c_uint(); p = (P*8)()
        s.ok(l.clGetPlatformIDs(8, p, C.byref(n)))
        import os
        kind = 0xFFFFFFFF if os.environ.get("ANY_DEVICE") else 4
        for i in range(n.value):
            d = (P*8)(); nd = C.c_uint()
            if l.clGetDeviceIDs(P(p[i]), C.c_ulong(kind), 8, d, C.byref(nd)) == 0 and nd.value: break
        else: raise SystemExit("no GPU among %d platforms" % n.value)
        s.dev = P(d[0])
        e = C.c_int()
        s.ctx = P(l.clCreateContext(None, 1, C.byref(s.dev), None, None, C.byref(e))); s.ok(e.value)
        s.q = P(l.clCreateCommandQueue(s.ctx, s.dev, C.c_ulong(2), C.byref(e))); s.ok(e.value)
        s.name = s.info(0x102B)
    def info(s, k):
        b = C.create_string_buffer(4096); s.l.clGetDeviceInfo(s.dev, k, C.c_size_t(4096), b, None); return b.value.decode()
    def ok(s, e):
        if e: raise RuntimeError(f"OpenCL error {e}")
    def build(s, src, opts=""):
        e = C.c_int(); b = src.encode(); sp = C.c_char_p(b)
        p = C.c_void_p(s.l.clCreateProgramWithSource(s.ctx, 1, C.byref(sp), None, C.byref(e))); s.ok(e.value)
        r = s.l.clBuildProgram(p, 1, C.byref(s.dev), opts.encode(), None, None)
        log = C.create_string_buffer(1<<20); s.l.clGetProgramBuildInfo(p, s.dev, 0x1183, C.c_size_t(1<<20), log, None)
        t = log.value.decode()
        if r: raise RuntimeError(f"build: {r}\n{t[:2000]}")
        return p, t
    def kernel(s, p, name):
        e = C.c_int(); k = C.c_void_p(s.l.clCreateKernel(p, name.encode(), C.byref(e))); s.ok(e.value); return k
    def buffer(s, n):
        e = C.c_int(); b = C.c_void_p(s.l.clCreateBuffer(s.ctx, C.c_ulong(1), C.c_size_t(n), None, C.byref(e))); s.ok(e.value); return b
    def write(s, b, arr): s.ok(s.l.clEnqueueWriteBuffer(s.q, b, 1, C.c_size_t(0), C.c_size_t(arr.nbytes), arr.ctypes.data_as(C.c_void_p), 0, None, None))
    def read(s, b, arr): s.ok(s.l.clEnqueueReadBuffer(s.q, b, 1, C.c_size_t(0), C.c_size_t(arr.nbytes), arr.ctypes.data_as(C.c_void_p), 0, None, None))
    def args(s, k, *a):
        for i, x in enumerate(a):
            s.ok(s.l.clSetKernelArg(k, i, C.c_size_t(C.sizeof(x)), C.byref(x)))
    def run(s, k, g, l, event=True):
        n = len(g); G = (C.c_size_t*n)(*g); L = (C.c_size_t*n)(*l); ev = C.c_void_p()
        s.ok(s.l.clEnqueueNDRangeKernel(s.q, k, n, None, G, L, 0, None, C.byref(ev) if event else None)); return ev
    def finish(s): s.ok(s.l.clFinish(s.q))
    def nanos(s, ev):
        a, b = C.c_ulong(), C.c_ulong()
        s.ok(s.l.clGetEventProfilingInfo(ev, 0x1282, C.c_size_t(8), C.byref(a), None)); s.ok(s.l.clGetEventProfilingInfo(ev, 0x1283, C.c_size_t(8), C.byref(b), None))
        s.l.clReleaseEvent(ev)
        return b.value - a.value
