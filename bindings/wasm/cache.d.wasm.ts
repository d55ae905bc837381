// Hosts such as workerd give a compiled module for `import module from './cache.wasm'`.
declare const module: import('./web-assembly.js').WasmModule;
export default module;
