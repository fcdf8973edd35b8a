// Holds outputs against those of the untuned model by the rule that the tuner has (src/tune/verify.rs): floats may be
// 1e-4 of the output's largest magnitude apart, everything else must be equal.

const LIMIT = 1e-4

/**
 * @param {Record<string, any>[]} expected outputs by name, call by call @param {Record<string, any>[]} received
 * @returns {{ equal: boolean, values: number, maxAbsError: number, faults: string[] }}
 */
export function compare(expected, received) {
  const result = { equal: expected.length === received.length, values: 0, maxAbsError: 0, faults: [] }
  expected.forEach((outputs, call) => {
    for (const [name, tensor] of Object.entries(outputs)) {
      const fault = compareTensors(tensor, received[call]?.[name], result)
      if (fault !== undefined) result.faults.push(`call ${call}, output ${JSON.stringify(name)}: ${fault}`)
    }
  })
  result.equal &&= result.faults.length === 0
  return result
}

function compareTensors(expected, received, result) {
  if (received === undefined) return 'missing'
  if (expected.type !== received.type) return `${received.type} instead of ${expected.type}`
  if (String(expected.dims) !== String(received.dims)) return `[${received.dims}] instead of [${expected.dims}]`
  const float = expected.data instanceof Float32Array
  const scale = float ? expected.data.reduce((most, value) => Math.max(most, Math.abs(value)), 0) : 0
  result.values += expected.data.length
  let fault
  for (let index = 0; index < expected.data.length; index++) {
    const [a, b] = [expected.data[index], received.data[index]]
    if (a === b) continue
    const error = float ? Math.abs(a - b) : Infinity
    if (float) result.maxAbsError = Math.max(result.maxAbsError, error)
    // Written so that NaN is a fault.
    if (!(error <= LIMIT * scale)) fault ??= `element ${index} is ${b} instead of ${a}`
  }
  return fault
}
