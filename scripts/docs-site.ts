/**
 * Builds the site of docs/ in build/site, after `npm run docs`: pages by Eleventy, the reference,
 * and a search that needs no server. Checks each link. Packages and layout are in tools/site.
 */
import { spawnSync } from 'node:child_process';
import { installTool } from './install-tool.ts';

const tools = installTool('site');
const { status } = spawnSync(process.execPath, [`${tools}/build.js`], { stdio: 'inherit' });
process.exitCode = status ?? 1;
