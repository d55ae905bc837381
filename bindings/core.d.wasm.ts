// Hosts such as workerd give a compiled module for `import module from './core.wasm'`.
declare const module: WebAssembly.Module;
export default module;
