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

kernel void group_sums(global const int *x, global int *out, local int *tile) {
  size_t at = get_local_id(0);
  tile[at] = x[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (at == 0) {
    int sum = 0;
    for (size_t i = 0; i < get_local_size(0); i++)
      sum += tile[i];
    out[get_group_id(0)] = sum;
  }
}

kernel __attribute__((reqd_work_group_size(4, 2, 1))) void shaped(global int *out) {
  out[get_global_id(1) * get_global_size(0) + get_global_id(0)] = (int)get_local_id(0);
}

kernel void sampled(sampler_t s, global int *out) { out[0] = 1; }
