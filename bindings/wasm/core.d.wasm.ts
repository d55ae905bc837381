// Hosts such as workerd give a compiled module for `import module from './core.wasm'`.
declare const module: import('./web-assembly.js').WasmModule;
export default module;
