// The models that are measured, each with inputs that all who run it are given.
import { statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** @typedef {{ name: string, type: 'float32' | 'int64', dims: number[], data: Float32Array | BigInt64Array }} Input */
/** @typedef {{ path: string, bytes: number, inputs: Input[] }} Model */

const FOLDER = new URL('../.cache/models/', import.meta.url)

/** @param {string} file @param {Input[]} inputs @returns {Model} */
function model(file, inputs) {
  const path = fileURLToPath(new URL(file, FOLDER))
  return { path, bytes: statSync(path).size, inputs }
}

/** @param {string} name @param {number[]} dims @returns {Input} */
function floats(name, dims) {
  const length = dims.reduce((product, dim) => product * dim)
  return { name, type: 'float32', dims, data: Float32Array.from({ length }, (_, index) => Math.sin(index)) }
}

/** Token ids and the mask of one text. @param {number} length @returns {Input[]} */
function tokens(length) {
  const ids = BigInt64Array.from({ length }, (_, index) => BigInt(1000 + index))
  return [
    { name: 'input_ids', type: 'int64', dims: [1, length], data: ids },
    { name: 'attention_mask', type: 'int64', dims: [1, length], data: new BigInt64Array(length).fill(1n) }
  ]
}

/** One addition of four numbers: nothing but overhead. */
export const addTiny = () => model('generated/add_tiny.onnx', [floats('x', [1, 4])])
/** Four layers of 128. @param {number} rows */
export const mlp128 = (rows) => model('generated/mlp128.onnx', [floats('x', [rows, 128])])
/** A small residual network on a 96 by 96 image. */
export const cnn = () => model('generated/cnn_fixed1.onnx', [floats('data', [1, 3, 96, 96])])
/** A transformer encoder of MiniLM's size, 90 MB. @param {number} length */
export const bert6 = (length) => model('generated/bert6.onnx', tokens(length))
/** A sentence embedding model from npm, 69 MB. @param {number} length */
export const minilm = (length) => model('minilm.onnx', tokens(length))
/** As `npm run bench` makes it for loading again and again, 47 MB. */
export const resnet18 = () => model('generated/resnet18.onnx', [floats('input.1', [1, 3, 224, 224])])
/** Gives what it gets: 64 KiB in and 64 KiB out. */
export const identity = () => model('generated/identity.onnx', [floats('x', [4096, 4])])
