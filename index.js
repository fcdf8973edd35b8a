'use strict'

const { AbortError, OnnxTuneError } = require('./lib/errors.js')
const { readGraph } = require('./lib/graph.js')
const { InspectReport, inspect } = require('./lib/inspect.js')
const { setLogger } = require('./lib/logger.js')
const { OnnxModule } = require('./lib/module.js')
const { TuneReport } = require('./lib/report.js')
const { setRuntime, versions } = require('./lib/runtime.js')
const { MaxThroughputStrategy, ONNXRuntimeBackend, OneBackendStrategy } = require('./lib/strategies.js')
const { Tensor } = require('./lib/tensor.js')
const { tune } = require('./lib/tune.js')
const { TunedModule } = require('./lib/tuned.js')

module.exports = {
  AbortError,
  InspectReport,
  MaxThroughputStrategy,
  ONNXRuntimeBackend,
  OneBackendStrategy,
  OnnxModule,
  OnnxTuneError,
  Tensor,
  TuneReport,
  TunedModule,
  inspect,
  readGraph,
  setLogger,
  setRuntime,
  tune,
  versions
}
