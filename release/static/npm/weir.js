#!/usr/bin/env node
// Runs the program of the package for this platform. The program has the standard streams and gets the signals of
// this process; this process ends as the program does.
'use strict'
const { spawn } = require('node:child_process')
const os = require('node:os')

const name = `@weir-mcp/${process.platform}-${process.arch}`
let program
try {
  program = require.resolve(`${name}/bin/weir${process.platform === 'win32' ? '.exe' : ''}`)
} catch {
  console.error(`weir: error: the package ${name} is not installed`)
  console.error('weir: hint: npm leaves it out with --omit=optional, and there is none for other platforms; ' +
    'https://github.com/weir-mcp/weir has other ways to install')
  process.exit(1)
}
const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' })
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']) {
  process.on(signal, () => child.kill(signal))
}
child.on('error', (err) => {
  console.error(`weir: error: ${program} does not start: ${err.message}`)
  process.exit(1)
})
child.on('exit', (code, signal) => process.exit(signal ? 128 + (os.constants.signals[signal] || 0) : code))
