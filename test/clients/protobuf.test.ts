/**
 * Decodes the bytes that Go writes of every built-in kind with every member set (the test data of
 * the module k8s.io/api), and compares them with the JSON that Go writes of the same object.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, inject, test } from 'vitest';
import { builtInTypeName } from '../../bindings/apimachinery/built-in.ts';
import { jsonOfProtobuf } from '../../bindings/testing/server/protobuf/objects.ts';

const { missing } = inject('client-go');

function testData(): string {
  const cwd = fileURLToPath(new URL('../../tools/client-go', import.meta.url));
  const list = ['list', '-m', '-f', '{{.Dir}}', 'k8s.io/api'];
  return join(execFileSync('go', list, { cwd, encoding: 'utf8' }).trim(), 'testdata/HEAD');
}

describe.skipIf(missing !== '')('protobuf written by Go', () => {
  const folder = missing === '' ? testData() : '.';
  const names = readdirSync(folder).filter((name) => name.endsWith('.pb'));
  const objects = names.map((name) => ({
    name: name.slice(0, -'.pb'.length),
    json: JSON.parse(readFileSync(join(folder, name.replace(/pb$/, 'json')), 'utf8')),
    bytes: readFileSync(join(folder, name)),
  }));
  const served = objects.filter(
    ({ json }) => builtInTypeName(json.apiVersion, json.kind) !== undefined,
  );

  test.for(served)('$name', ({ json, bytes }) => {
    expect(JSON.parse(jsonOfProtobuf(bytes))).toEqual(json);
  });

  test('nearly every kind of the server is tested', () => {
    expect(served.length).toBeGreaterThan(60);
  });
});
