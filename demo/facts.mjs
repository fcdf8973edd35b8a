import { stat } from 'node:fs/promises'
import { basename } from 'node:path'

const COUNT = new Intl.NumberFormat('en')

/** The graph of a model in a few lines. @param {import('onnxtune').GraphInfo} graph */
export async function facts(graph) {
  const { size } = await stat(graph.modelPath)
  const operators = Object.entries(graph.operatorCounts).sort(([, a], [, b]) => b - a)
  const nodes = operators.reduce((total, [, count]) => total + count, 0)
  const common = operators
    .slice(0, 6)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ')
  return {
    name: basename(graph.modelPath),
    size: `${megabytes(size)}, ${COUNT.format(graph.parameters)} parameters, ${graph.precision}`,
    graph: `opset ${graph.opsetVersion}, ${nodes} nodes of ${graph.operators.length} operators: ${common}, …`,
    inputs: graph.inputs.map(value).join('   '),
    outputs: graph.outputs.map(value).join('   ')
  }
}

/** @param {number} bytes */
export function megabytes(bytes) {
  return `${(bytes / 1e6).toFixed(1)} MB`
}

/** @param {number} error */
export function difference(error) {
  return error === 0 ? '0' : error.toExponential(1)
}

function value({ name, dtype, shape }) {
  // Exporters give dimensions names of any length; how many there are says enough here.
  const dims = shape.map((dim) => (typeof dim === 'number' ? dim : '?'))
  return `${name} ${dtype}[${dims}]`
}
