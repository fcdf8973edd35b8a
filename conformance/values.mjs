// Reads the values of a case: TensorProto, SequenceProto and OptionalProto become the inputs and outputs of the API.

import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import protobuf from 'protobufjs'
import onnxtune from '../index.js'
import { PACKAGES } from './corpus.mjs'

const { Tensor } = onnxtune

/** Typed arrays by element type; all others are bytes. */
const ARRAYS = {
  float32: Float32Array,
  float64: Float64Array,
  float16: Uint16Array,
  bfloat16: Uint16Array,
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
  int64: BigInt64Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  uint64: BigUint64Array
}

const root = new protobuf.Root()
// The package's files import one another by paths from the folder it is in.
root.resolvePath = (_, target) => fileURLToPath(new URL(target, PACKAGES))
const onnx = root.loadSync('onnx/onnx-data.proto').lookup('onnx')
const DATA_TYPES = onnx.lookupEnum('TensorProto.DataType').valuesById

/**
 * @param {URL} file @param {string} type of the graph's input or output, such as `sequence(tensor(float32))`
 */
export async function readValue(file, type) {
  const kind = { sequence: 'SequenceProto', optional: 'OptionalProto' }[type.split('(')[0]] ?? 'TensorProto'
  return VALUES[kind](onnx.lookupType(kind).decode(await readFile(file)))
}

const VALUES = {
  TensorProto: (proto) => tensor(proto),
  SequenceProto: (proto) => {
    if (proto.elemType !== 1) throw new Error('a sequence of something else than tensors')
    return proto.tensorValues.map(tensor)
  },
  OptionalProto: (proto) => {
    if (proto.tensorValue !== null) return tensor(proto.tensorValue)
    return proto.sequenceValue === null ? null : VALUES.SequenceProto(proto.sequenceValue)
  }
}

function tensor(proto) {
  const name = DATA_TYPES[proto.dataType]
  const type = { FLOAT: 'float32', DOUBLE: 'float64' }[name] ?? name.toLowerCase()
  return new Tensor(type, elements(proto, type), proto.dims.map(Number))
}

/** The cases keep elements in three of the seven fields that there are. */
function elements(proto, type) {
  if (type === 'string') return proto.stringData.map((bytes) => Buffer.from(bytes).toString())
  const array = ARRAYS[type] ?? Uint8Array
  if (proto.int32Data.length > 0) return array.from(proto.int32Data)
  // Copied, since a typed array must be aligned.
  return new array(new Uint8Array(proto.rawData).buffer)
}

/** What onnx's own test runner gives a model that has no inputs on file. @param {import('../index').ValueInfo} info */
export function ramp(info) {
  const dims = info.shape.map((dim) => (typeof dim === 'number' ? dim : 1))
  const length = dims.reduce((product, dim) => product * dim, 1)
  return new Tensor(
    'float32',
    Float32Array.from({ length }, (_, index) => index / length),
    dims
  )
}
