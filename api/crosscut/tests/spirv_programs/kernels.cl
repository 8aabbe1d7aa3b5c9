// What `spirv_programs.rs` launches by name.
typedef struct { float gain; int bias; long big; } setup;

kernel void saxpy(float a, global const float *x, global float *y) {
  size_t i = get_global_id(0);
  y[i] += a * x[i];
}

kernel void numbers(global long *out, char a, uchar b, short c, ushort d, int e, uint f, long g,
                    ulong h, float i) {
  out[0] = a; out[1] = b; out[2] = c; out[3] = d; out[4] = e;
  out[5] = f; out[6] = g; out[7] = (long)h; out[8] = (long)i;
}

kernel void by_value(global float *out, setup s, float4 v) {
  out[0] = s.gain + s.bias + s.big;
  out[1] = v.x + v.y + v.z + v.w;
}

kernel void table(constant int *t, global int *out) {
  size_t x = get_global_id(0), y = get_global_id(1);
  out[y * get_global_size(0) + x] = t[x] * 10 + (int)y;
}

kernel void sampled(sampler_t s, global int *out) { out[0] = 1; }
