// Compares outputs with what is expected, by the rule of numpy.testing.assert_allclose.

const PACKED = { int4: 4, uint4: 4, float4e2m1: 4, int2: 2, uint2: 2 }

/**
 * What tells an output from the expected one, or null when nothing does.
 * @param {any} expected @param {any} received @param {{ rtol: number, atol: number }} tolerance
 * @returns {string | null}
 */
export function difference(expected, received, tolerance) {
  const [wanted, got] = [describe(expected), describe(received)]
  if (wanted !== got) return `${got} instead of ${wanted}`
  if (expected === null) return null
  if (!Array.isArray(expected)) return tensorDifference(expected, received, tolerance)
  for (let index = 0; index < expected.length; index++) {
    const found = difference(expected[index], received[index], tolerance)
    if (found !== null) return `[${index}]: ${found}`
  }
  return null
}

function describe(value) {
  if (value === null) return 'null'
  if (Array.isArray(value)) return `a sequence of ${value.length}`
  return typeof value?.type === 'string' ? `${value.type}[${value.dims}]` : Object.prototype.toString.call(value)
}

function tensorDifference(expected, received, { rtol, atol }) {
  const wanted = elements(expected)
  const got = elements(received)
  if (got.length !== wanted.length) return `${got.length} elements instead of ${wanted.length}`
  let count = 0
  let worst = -1
  let index = 0
  const excess = (at) => Math.abs(Number(got[at]) - Number(wanted[at])) - atol - rtol * Math.abs(Number(wanted[at]))
  for (let at = 0; at < wanted.length; at++) {
    if (Object.is(wanted[at], got[at]) || wanted[at] === got[at]) continue
    // Infinity is near nothing, and NaN compares with nothing.
    if (Number.isFinite(Number(wanted[at])) && excess(at) <= 0) continue
    count++
    if (!(excess(at) <= worst)) [worst, index] = [excess(at), at]
  }
  if (count === 0) return null
  return `${count} of ${wanted.length} elements differ; the worst is ${got[index]} instead of ${wanted[index]}`
}

/**
 * Elements as numbers, bigints or strings. Most floats of 8 bits and fewer stay bits, which serves to compare them: no two
 * values are near enough to be within the tolerance.
 */
function elements({ type, data, size }) {
  if (type in PACKED) return unpack(data, PACKED[type], size)
  if (type === 'bfloat16') return new Float32Array(Uint32Array.from(data, (bits) => bits << 16).buffer)
  if (type === 'float16') return Float64Array.from(new Uint16Array(data.buffer, data.byteOffset, data.length), fromHalf)
  // The upper half of a float16, with NaNs in many forms like it.
  if (type === 'float8e5m2') return Float64Array.from(data, (bits) => fromHalf(bits << 8))
  return data
}

/** The first element is in the lowest bits. */
function unpack(data, bits, size) {
  const perByte = 8 / bits
  return Uint8Array.from({ length: size }, (_, index) => {
    return (data[Math.floor(index / perByte)] >> (bits * (index % perByte))) & (2 ** bits - 1)
  })
}

/** Node before 24 has no Float16Array. */
function fromHalf(bits) {
  const sign = bits & 0x8000 ? -1 : 1
  const exponent = (bits >> 10) & 0x1f
  const fraction = bits & 0x3ff
  if (exponent === 0x1f) return fraction ? NaN : sign * Infinity
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25))
}
