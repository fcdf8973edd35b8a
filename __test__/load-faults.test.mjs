// Models that cannot be loaded: each its own code, and a process that goes on as if nothing had been.
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'

import { OnnxModule, OnnxTuneError, readGraph, tune } from '../index.js'
import { extended, field, generated, runQuietly, scratch, throwsFault } from './helpers.mjs'

const folder = scratch()
const file = (name, content) => {
  writeFileSync(join(folder, name), content)
  return join(folder, name)
}
mkdirSync(join(folder, 'folder.onnx'))

const identity = readFileSync(generated('identity'))
const external = readFileSync(generated('mlp_external'))
const lfs = `version https://git-lfs.github.com/spec/v1\noid sha256:${'0'.repeat(64)}\nsize 69060623\n`
const flatbuffer = Buffer.concat([Buffer.from([0x18, 0, 0, 0]), Buffer.from('ORTM'), Buffer.alloc(64, 1)])

// A name for what is wrong: the source, the code, and what the message tells the reader.
const UNREADABLE = {
  'a path where nothing is': [join(folder, 'nothing.onnx'), 'ERR_MODEL_NOT_FOUND', /nothing\.onnx/],
  'a path through a file': [join(file('a.txt', 'a'), 'b.onnx'), 'ERR_MODEL_NOT_FOUND', /b\.onnx/],
  'a path in a missing folder': [join(folder, 'no', 'a.onnx'), 'ERR_MODEL_NOT_FOUND', /a\.onnx/],
  'a URL of a missing file': [pathToFileURL(join(folder, 'ü.onnx')), 'ERR_MODEL_NOT_FOUND', /ü\.onnx/],
  'the text of a web address': ['https://example.org/a.onnx', 'ERR_MODEL_NOT_FOUND', /example\.org/],
  'a folder': [join(folder, 'folder.onnx'), 'ERR_MODEL_NOT_A_FILE', /is not a file/],
  'a device': ['/dev/null', 'ERR_MODEL_NOT_A_FILE', /is not a file/],
  'an empty file': [file('empty.onnx', ''), 'ERR_MODEL_EMPTY', /empty/],
  'a text file': [generated('not_onnx'), 'ERR_MODEL_INVALID', /text file/],
  'a web page': [file('page.onnx', '<!DOCTYPE html><html></html>'), 'ERR_MODEL_INVALID', /web page/],
  'a JSON file': [file('json.onnx', '{"a": 1}'), 'ERR_MODEL_INVALID', /JSON/],
  'a zip archive': [file('zip.onnx', 'PK\x03\x04'.padEnd(99, '\x01')), 'ERR_MODEL_INVALID', /zip/],
  'a program': [process.execPath, 'ERR_MODEL_INVALID', /program/],
  'a file of zeros': [file('zeros.onnx', Buffer.alloc(4096)), 'ERR_MODEL_INVALID', /zeros/],
  'half a model': [file('half.onnx', external.subarray(0, external.length / 2)), 'ERR_MODEL_TRUNCATED', /cut off/],
  'a model without its last bytes': [generated('truncated'), 'ERR_MODEL_TRUNCATED', /cut off.*download it again/],
  'a Git LFS pointer': [file('lfs.onnx', lfs), 'ERR_MODEL_LFS_POINTER', /git lfs pull/],
  'a model without a graph': [file('bare.onnx', identity.subarray(0, 2)), 'ERR_MODEL_NO_GRAPH', /no graph/],
  'no bytes': [new Uint8Array(0), 'ERR_MODEL_EMPTY', /empty/],
  'bytes of a text': [Buffer.from('hello'), 'ERR_MODEL_INVALID', /text/]
}

test('a damaged model in ORT format is refused by load, and any such model by readGraph', async () => {
  const source = file('model.ort', flatbuffer)
  await throwsFault(OnnxModule.load(source), OnnxTuneError, 'ERR_MODEL_LOAD', { message: /ORT model/ })
  await throwsFault(readGraph(source), OnnxTuneError, 'ERR_MODEL_ORT_FORMAT', { message: /ORT format/ })
})

test('a model in ORT format that the runtime wrote runs as the one it was made from, and cannot be tuned', async () => {
  const [path, configEntries] = [join(folder, 'mlp.ort'), { 'session.save_model_format': 'ORT' }]
  const graphOptimization = 'basic'
  const source = await OnnxModule.load(generated('mlp_tiny'), {
    optimizedModelPath: path,
    configEntries,
    graphOptimization
  })
  const made = await OnnxModule.load(path)
  const x = Float32Array.from({ length: 16 }, (_, index) => index / 16)
  assert.deepEqual(made.graphInfo.inputs, source.graphInfo.inputs)
  assert.deepEqual(await made.run(x), await source.run(x))
  await throwsFault(tune(made, [x]), OnnxTuneError, 'ERR_MODEL_ORT_FORMAT')
})

for (const [what, [source, code, message]] of Object.entries(UNREADABLE)) {
  test(`${what} is refused as ${code} by load and readGraph`, async () => {
    await throwsFault(OnnxModule.load(source), OnnxTuneError, code, { message })
    await throwsFault(readGraph(source), OnnxTuneError, code, { message })
  })
}

mkdirSync(join(folder, 'short'))
writeFileSync(join(folder, 'short', 'model.onnx'), external)
writeFileSync(join(folder, 'short', 'mlp_external.onnx.data'), Buffer.alloc(1000))
mkdirSync(join(folder, 'pointer'))
writeFileSync(join(folder, 'pointer', 'model.onnx'), external)
writeFileSync(join(folder, 'pointer', 'mlp_external.onnx.data'), lfs)

// TensorProto: dims 1, data_type 2, name 8, external_data 13 (of key 1 and value 2), data_location 14 (1 is external).
const pointing = (...entries) =>
  extended(
    'identity',
    field(7, [
      field(5, [
        field(1, 4),
        field(2, 1),
        field(8, 'w'),
        field(14, 1),
        ...entries.map(([key, value]) => field(13, [field(1, key), field(2, value)]))
      ])
    ])
  )

const UNLOADABLE = {
  'a model without its external file': [
    generated('missing_external'),
    'ERR_EXTERNAL_DATA_MISSING',
    /missing_external\.onnx\.data/
  ],
  'bytes without their external data': [external, 'ERR_EXTERNAL_DATA_MISSING', /mlp_external\.onnx\.data.*not given/],
  'a model whose external file is too short': [
    join(folder, 'short', 'model.onnx'),
    'ERR_EXTERNAL_DATA_TOO_SHORT',
    /33378208.*1000/
  ],
  'a model whose external file is a Git LFS pointer': [
    join(folder, 'pointer', 'model.onnx'),
    'ERR_MODEL_LFS_POINTER',
    /git lfs pull/
  ],
  'a model that reaches outside its folder': [generated('escaping_external'), 'ERR_EXTERNAL_DATA_PATH', /helper\.py/],
  'a reference to nowhere': [pointing(), 'ERR_EXTERNAL_DATA_INVALID', /'w'.*no location/],
  'a reference with a negative offset': [
    pointing(['location', 'a'], ['offset', '-1']),
    'ERR_EXTERNAL_DATA_INVALID',
    /offset is '-1'/
  ],
  'a reference of the wrong length': [
    pointing(['location', 'a'], ['length', '5']),
    'ERR_EXTERNAL_DATA_INVALID',
    /5 bytes.*16/
  ],
  'an absolute reference': [
    file('absolute.onnx', pointing(['location', '/etc/passwd'])),
    'ERR_EXTERNAL_DATA_PATH',
    /\/etc\/passwd/
  ],
  'a newer IR version': [generated('future_ir'), 'ERR_IR_UNSUPPORTED', /IR version 99 .* 1[3-9]/],
  'a newer opset': [generated('future_opset'), 'ERR_OPSET_UNSUPPORTED', /opset 99 of domain ai\.onnx .* \d\d/],
  'an unknown operator': [generated('unknown_op'), 'ERR_OPERATOR_UNSUPPORTED', /com\.foo::Bar/],
  'an operator without a kernel at its opset': [
    generated('relu_opset1'),
    'ERR_OPERATOR_UNSUPPORTED',
    /ai\.onnx::Relu of opset 1/
  ],
  'an element type without a kernel': [generated('identity_int4'), 'ERR_OPERATOR_UNSUPPORTED', /Identity/],
  'operands of different types': [generated('wrong_type'), 'ERR_MODEL_LOAD', /Add/],
  'an operand from nowhere': [generated('undefined_input'), 'ERR_MODEL_LOAD', /nobody/]
}

for (const [what, [source, code, message]] of Object.entries(UNLOADABLE)) {
  test(`${what} is refused as ${code} by load, and readGraph still reads`, async () => {
    await throwsFault(OnnxModule.load(source), OnnxTuneError, code, { message })
    assert.ok((await readGraph(source)).outputs.length > 0)
  })
}

test('what is unsupported comes with a hint', async () => {
  const hints = { future_ir: /older opset/, future_opset: /older opset/, unknown_op: /domain and opset/ }
  for (const [name, hint] of Object.entries(hints)) {
    const error = await OnnxModule.load(generated(name)).catch((error) => error)
    assert.match(error.hint, hint)
    assert.ok(error.message.endsWith(error.hint), 'the message says it too')
  }
})

test('sources that are neither paths nor bytes are refused as ERR_SOURCE', async () => {
  const sources = [
    5,
    null,
    undefined,
    {},
    [],
    true,
    new Float32Array(4),
    new URL('http://example.org/a.onnx'),
    Symbol('a'),
    '',
    'a\0b',
    new Uint8ClampedArray(4),
    'file://host/share/a.onnx'
  ]
  for (const source of sources) {
    const error = await throwsFault(OnnxModule.load(source), TypeError, 'ERR_SOURCE')
    assert.notEqual(error.expected, undefined)
    await throwsFault(readGraph(source), TypeError, 'ERR_SOURCE')
  }
})

test('an aborted signal ends load with an AbortError, even where the model is missing', async () => {
  const signal = AbortSignal.abort()
  const error = await OnnxModule.load(join(folder, 'nothing.onnx'), { signal }).catch((error) => error)
  assert.deepEqual({ name: error.name, code: error.code }, { name: 'AbortError', code: 'ABORT_ERR' })
})

const IN_ONE_PROCESS = Object.values({ ...UNREADABLE, ...UNLOADABLE }).filter(([source]) => typeof source === 'string')

test('after all of these a process loads a good model, and stderr stays empty', async () => {
  const program = `const codes = []
    for (const source of ${JSON.stringify(IN_ONE_PROCESS.map(([source]) => source))}) {
      await onnxtune.OnnxModule.load(source).catch(({ code }) => codes.push(code))
    }
    const module = await onnxtune.OnnxModule.load(generated('identity'))
    const { y } = await module.run(new Float32Array([1, 2, 3, 4]))
    console.log(JSON.stringify({ codes, data: [...y.data] }))`
  const codes = IN_ONE_PROCESS.map(([, code]) => code)
  assert.deepEqual(await runQuietly(program), { codes, data: [1, 2, 3, 4] })
})

test('warnings of the runtime do not reach stderr', async () => {
  const program = `const module = await onnxtune.OnnxModule.load(generated('unused_initializers'))
    const { y } = await module.run(new Float32Array(4))
    console.log(JSON.stringify(y.dims))`
  assert.deepEqual(await runQuietly(program), [1, 4])
})

test('a run that fails inside the runtime rejects as ERR_RUN_FAILED in silence, and the module goes on', async () => {
  const program = `const module = await onnxtune.OnnxModule.load(generated('names'))
    const unlike = [{ data: new Float32Array(8), dims: [2, 4] }, { data: new Int32Array(3), dims: [3, 1] }]
    const faults = [await module.run(unlike).catch((error) => error)]
    try {
      module.runSync(unlike)
    } catch (error) {
      faults.push(error)
    }
    const outputs = await module.run([[[1, 2, 3, 4]], [[1]]])
    const told = faults.map(({ name, code, message }) => ({ name, code, node: message.includes('/Add_2') }))
    console.log(JSON.stringify({ told, dims: outputs['out.x/y:0'].dims }))`
  const fault = { name: 'OnnxTuneError', code: 'ERR_RUN_FAILED', node: true }
  assert.deepEqual(await runQuietly(program), { told: [fault, fault], dims: [1, 3] })
})
