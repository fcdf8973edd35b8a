// readGraph: the facts of a model without a session, and every way to name a model.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join, relative } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'

import { OnnxModule, readGraph } from '../index.js'
import {
  extended,
  fetched,
  field,
  generated,
  lacks,
  numbers,
  plain,
  python,
  root,
  runQuietly,
  scratch,
  throwsFault
} from './helpers.mjs'

const folder = scratch()

test('a generated model tells all its facts', async () => {
  const path = generated('names')
  const inputs = [
    { name: 'a.b/c:0', type: 'tensor(float32)', dtype: 'float32', shape: ['N', 4] },
    { name: 'ids:0', type: 'tensor(int32)', dtype: 'int32', shape: ['N', 1] }
  ]
  const outputs = [{ name: 'out.x/y:0', type: 'tensor(float32)', dtype: 'float32', shape: ['N', 3] }]
  assert.deepEqual(await readGraph(path), {
    modelPath: path,
    irVersion: 8,
    opsets: { '': 17 },
    opsetVersion: 17,
    operators: ['Add', 'Cast', 'MatMul'],
    operatorCounts: { Add: 1, Cast: 1, MatMul: 1 },
    inputs,
    outputs,
    inputNames: ['a.b/c:0', 'ids:0'],
    outputNames: ['out.x/y:0'],
    inputDtypes: ['float32', 'int32'],
    outputDtypes: ['float32'],
    inputShapes: [
      ['N', 4],
      ['N', 1]
    ],
    outputShapes: [['N', 3]],
    precision: 'fp32',
    parameters: 12,
    weightBytes: 48,
    externalData: [],
    producerName: 'make_models.py',
    producerVersion: '1',
    modelVersion: null,
    docString: null,
    metadata: {},
    functions: []
  })
})

// The same facts by the onnx package, written down independently.
const ORACLE = `
import sys, json, onnx
from onnx import AttributeProto as A
def graphs(graph):
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in [attribute.g] * (attribute.type == A.GRAPH) + list(attribute.graphs):
                yield from graphs(inner)
def facts(path):
    model, counts, parameters = onnx.load(path), {}, 0
    for graph in graphs(model.graph):
        tensors = list(graph.initializer)
        for node in graph.node:
            name = node.op_type if node.domain in ('', 'ai.onnx') else node.domain + '::' + node.op_type
            counts[name] = counts.get(name, 0) + 1
            tensors += [a.t for a in node.attribute if node.op_type == 'Constant' and a.name == 'value' and a.t.dims]
        for tensor in tensors:
            size = 1
            for dim in tensor.dims:
                size *= dim
            parameters += size
    initializers = {tensor.name for tensor in model.graph.initializer}
    shape = lambda v: [d.dim_param or (d.dim_value if d.HasField('dim_value') else None)
                       for d in v.type.tensor_type.shape.dim]
    signature = lambda values: [[v.name, shape(v)] for v in values]
    return {'irVersion': model.ir_version, 'opsets': {o.domain.replace('ai.onnx', '') if o.domain == 'ai.onnx'
            else o.domain: o.version for o in model.opset_import}, 'operatorCounts': counts,
            'inputs': signature(v for v in model.graph.input if v.name not in initializers),
            'outputs': signature(model.graph.output), 'parameters': parameters,
            'producerName': model.producer_name or None, 'metadata': {p.key: p.value for p in model.metadata_props}}
print(json.dumps({path: facts(path) for path in sys.argv[1:]}))
`
const REAL = ['minilm', 'nsfw', 'silero', 'magika', 'ocr_int8', 'detector', 'mtcnn', 'iris', 'ppocr_rec', 'ppocr_det']
const packages = join(root, '.cache', 'python')
const noOracle = existsSync(join(packages, 'onnx')) ? lacks(...REAL) : 'the onnx package is not in .cache/python'

test('the facts of real models are those that the onnx package finds', { skip: noOracle }, async () => {
  const paths = REAL.map(fetched)
  const env = { ...process.env, PYTHONPATH: packages }
  const output = execFileSync(python, ['-c', ORACLE, ...paths], { env, encoding: 'utf8', maxBuffer: 1 << 26 })
  const expected = JSON.parse(output)
  for (const path of paths) {
    const info = await readGraph(path)
    const { irVersion, opsets, operatorCounts, parameters, producerName, metadata } = info
    const signature = (values) => values.map(({ name, shape }) => [name, shape ?? []])
    const inputs = signature(info.inputs)
    const outputs = signature(info.outputs)
    const facts = { irVersion, opsets, operatorCounts, inputs, outputs, parameters, producerName, metadata }
    assert.deepEqual(facts, expected[path], path)
    assert.deepEqual(info.operators, Object.keys(info.operatorCounts).sort())
    assert.equal(info.opsetVersion, info.opsets[''] ?? null)
  }
})

test('operators inside If and Loop are counted', async () => {
  const { operatorCounts } = await readGraph(generated('control_flow'))
  assert.deepEqual(operatorCounts, { Add: 1, Constant: 2, Identity: 1, If: 1, Loop: 1, Mul: 1, ReduceSum: 1, Sub: 1 })
})

test('operators of other domains carry their domain, and the standard domain is the empty one', async () => {
  const { opsets, opsetVersion, operators } = await readGraph(generated('zipmap'))
  assert.deepEqual(opsets, { '': 17, 'ai.onnx.ml': 1 })
  assert.equal(opsetVersion, 17)
  assert.deepEqual(operators, ['Identity', 'ai.onnx.ml::LinearClassifier', 'ai.onnx.ml::ZipMap'])
  // OperatorSetIdProto: domain 1, version 2. The highest version of a domain counts, however it is spelt.
  const spelt = await readGraph(extended('identity', field(8, [field(1, 'ai.onnx'), field(2, 18)])))
  assert.deepEqual(spelt.opsets, { '': 18 })
})

test('sequences and maps are named by their types, and have no dtype and shape', async () => {
  const { outputs } = await readGraph(generated('zipmap'))
  const type = 'sequence(map(string,float32))'
  assert.deepEqual(outputs[1], { name: 'output_probability', type, dtype: null, shape: null })
  const {
    outputs: [chunks, count]
  } = await readGraph(generated('sequence'))
  assert.deepEqual(chunks, { name: 'chunks', type: 'sequence(tensor(float32))', dtype: null, shape: null })
  assert.deepEqual(count, { name: 'count', type: 'tensor(int64)', dtype: 'int64', shape: [] })
})

test('every element type has its name', async () => {
  const names = [
    'float32',
    'float64',
    'float16',
    'bfloat16',
    'int8',
    'int16',
    'int32',
    'int64',
    'uint8',
    'uint16',
    'uint32',
    'uint64',
    'bool',
    'string',
    'complex64',
    'complex128',
    'float8e4m3fn',
    'float8e4m3fnuz',
    'float8e5m2',
    'float8e5m2fnuz',
    'float8e8m0',
    'float4e2m1',
    'int4',
    'uint4',
    'int2',
    'uint2'
  ]
  for (const name of names) {
    const { inputs, outputDtypes } = await readGraph(generated(`identity_${name}`))
    assert.deepEqual(inputs, [{ name: 'x', type: `tensor(${name})`, dtype: name, shape: ['N'] }])
    assert.deepEqual(outputDtypes, [name])
  }
})

test('names that mean something to JavaScript come through', async () => {
  const { inputNames, outputNames } = await readGraph(generated('dunder'))
  assert.deepEqual(inputNames, ['__proto__', 'constructor'])
  assert.deepEqual(outputNames, ['toString', 'hasOwnProperty'])
})

test('weights are counted, and their number format is the precision', async () => {
  const half = await readGraph(generated('resnet18_fp16'))
  assert.equal(half.precision, 'fp16')
  assert.equal(half.weightBytes, 2 * half.parameters)
  assert.deepEqual(half.metadata, { author: 'make_models.py', task: 'image-classification' })
  const full = await readGraph(generated('resnet18'))
  assert.equal(full.precision, 'fp32')
  assert.equal(full.parameters, half.parameters)
  assert.equal(full.weightBytes, 4 * full.parameters)
})

test('an already quantised model is int8', { skip: lacks('ocr_int8') }, async () => {
  assert.equal((await readGraph(fetched('ocr_int8'))).precision, 'int8')
})

test('initialisers that the file lists as inputs are no inputs', async () => {
  // GraphProto: initializer 5, input 11; TensorProto: dims 1, data_type 2, name 8, raw_data 9.
  const weight = field(5, [
    field(1, 4),
    field(2, 1),
    field(8, 'w'),
    field(
      9,
      [1, 2, 3, 4].flatMap(() => [0, 0, 0, 0])
    )
  ])
  const info = await readGraph(extended('identity', field(7, [weight, field(11, [field(1, 'w')])])))
  assert.deepEqual(info.inputNames, ['x'])
  assert.equal(info.parameters, 4)
  assert.equal(info.weightBytes, 16)
})

test('version, description, metadata and functions of a model are told', async () => {
  // ModelProto: model_version 5, doc_string 6, metadata_props 14, functions 25.
  // FunctionProto: name 1, node 7, domain 10.
  const entryOf = (key, value) => field(14, [field(1, key), field(2, value)])
  const info = await readGraph(
    extended(
      'identity',
      field(5, 300),
      field(6, 'Läuft'),
      entryOf('__proto__', 'a'),
      field(25, [field(1, 'Twice'), field(7, [field(4, 'Add')]), field(10, 'my.own')])
    )
  )
  assert.equal(info.modelVersion, 300)
  assert.equal(info.docString, 'Läuft')
  assert.deepEqual(Object.entries(info.metadata), [['__proto__', 'a']])
  assert.deepEqual(info.functions, ['my.own::Twice'])
  assert.deepEqual(info.operators, ['Add', 'Identity'])
})

test('external data is located and its presence told', async () => {
  const present = await readGraph(generated('mlp_external'))
  assert.deepEqual(present.externalData, [{ location: 'mlp_external.onnx.data', bytes: 33378208, present: true }])
  assert.equal(present.weightBytes, 33378208)
  const { externalData: many } = await readGraph(generated('wide_external'))
  assert.equal(many.length, 64)
  assert.deepEqual(many[63], { location: 'wide_external/w63.bin', bytes: 2048, present: true })
  const missing = await readGraph(generated('missing_external'))
  assert.deepEqual(missing.externalData, [{ location: 'missing_external.onnx.data', bytes: 2048, present: false }])
  const [escaping] = (await readGraph(generated('escaping_external'))).externalData
  assert.equal(escaping.present, false, 'data outside the folder of the model may not be read')
})

test('models that no runtime loads can still be read', async () => {
  assert.equal((await readGraph(generated('future_ir'))).irVersion, 99)
  assert.equal((await readGraph(generated('future_opset'))).opsetVersion, 99)
  assert.deepEqual((await readGraph(generated('unknown_op'))).operators, ['com.foo::Bar'])
  assert.equal((await readGraph(generated('relu_opset1'))).opsetVersion, 1)
  assert.deepEqual((await readGraph(generated('undefined_input'))).inputNames, ['x'])
})

test('bytes count as they are at call time and may be any view', async () => {
  const file = readFileSync(generated('identity'))
  const apart = new Uint8Array(file.length + 3)
  apart.set(file, 3)
  for (const bytes of [apart.subarray(3), new Uint8Array(file).buffer, file]) {
    const reading = readGraph(bytes)
    new Uint8Array(bytes.buffer ?? bytes, bytes.byteOffset, bytes.byteLength).fill(0)
    const { modelPath, inputNames } = await reading
    assert.deepEqual({ modelPath, inputNames }, { modelPath: null, inputNames: ['x'] })
  }
})

test('bytes take their external data by location', async () => {
  const bytes = readFileSync(generated('mlp_external'))
  const data = readFileSync(`${generated('mlp_external')}.data`)
  const location = 'mlp_external.onnx.data'
  const [without] = (await readGraph(bytes)).externalData
  assert.deepEqual(without, { location, bytes: data.length, present: false })
  const [withData] = (await readGraph(bytes, { externalData: { [location]: data } })).externalData
  assert.deepEqual(withData, { location, bytes: data.length, present: true })
  const withPath = readGraph(generated('mlp_external'), { externalData: { [location]: data } })
  await throwsFault(withPath, TypeError, 'ERR_OPTION')
  const outputs = []
  const x = numbers(1024)
  for (const given of [[generated('mlp_external')], [bytes, { externalData: { [location]: data } }]]) {
    const model = await OnnxModule.load(...given)
    outputs.push(plain(await model.run({ x })))
    await model.dispose()
  }
  assert.deepEqual(outputs[0], outputs[1])
})

// T12: each form names a model whose weights lie beside it.
const odd = join(folder, '模型 é 🚀 dir%20')
mkdirSync(odd)
for (const name of ['mlp_external.onnx', 'mlp_external.onnx.data']) {
  copyFileSync(generated('x').replace('x.onnx', name), join(odd, name))
}
symlinkSync(odd, join(folder, 'linked'))
symlinkSync(join(odd, 'mlp_external.onnx'), join(folder, 'link.onnx'))
const FORMS = {
  'an absolute path': join(odd, 'mlp_external.onnx'),
  'a relative path': relative(process.cwd(), join(odd, 'mlp_external.onnx')),
  'a file: URL': pathToFileURL(join(odd, 'mlp_external.onnx')),
  'the text of a file: URL': pathToFileURL(join(odd, 'mlp_external.onnx')).href,
  'a link to the file': join(folder, 'link.onnx'),
  'a link to the folder': join(folder, 'linked', 'mlp_external.onnx')
}

for (const [form, source] of Object.entries(FORMS)) {
  test(`a model in a folder named ${JSON.stringify('模型 é 🚀 dir%20')} is found by ${form}`, async () => {
    const info = await readGraph(source)
    assert.equal(info.externalData[0].present, true)
    const isUrl = source instanceof URL || source.startsWith('file:')
    assert.equal(info.modelPath, isUrl ? FORMS['an absolute path'] : source)
    const model = await OnnxModule.load(source)
    const original = await OnnxModule.load(generated('mlp_external'))
    assert.deepEqual(plain(await model.run(numbers(1024))), plain(await original.run(numbers(1024))))
    await Promise.all([model.dispose(), original.dispose()])
  })
}

test('relative paths count from the current folder of the process', async () => {
  const program = `const model = await onnxtune.OnnxModule.load('mlp_external.onnx')
    const { y } = await model.run(new Float32Array(1024).fill(0.5))
    console.log(JSON.stringify({ path: model.graphInfo.modelPath, size: y.size }))`
  assert.deepEqual(await runQuietly(program, { cwd: odd }), { path: 'mlp_external.onnx', size: 1000 })
})
