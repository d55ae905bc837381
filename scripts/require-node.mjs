// The first step of every build: the scripts are TypeScript, which an older Node cannot run. Plain
// JavaScript, so that an older Node can run this file and say so in one line.
import process from 'node:process';

const NEEDED = [22, 19];
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < NEEDED[0] || (major === NEEDED[0] && minor < NEEDED[1])) {
  console.error(
    `Capstan's scripts need Node ${NEEDED.join('.')} or later, and this is Node ` +
      `${process.versions.node} (${process.execPath}). npm ci installs a newer one into ` +
      'node_modules: run it, and let it run the install script of the package "node"',
  );
  process.exit(1);
}
