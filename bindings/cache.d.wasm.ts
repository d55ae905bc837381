// Hosts such as workerd give a compiled module for `import module from './cache.wasm'`.
declare const module: WebAssembly.Module;
export default module;
