/** Runs the command line in the process of a test. */
import { main } from '../../bin/cli.ts';

export interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

/** The command line in this process. */
export async function capstan(...args: string[]): Promise<Ended> {
  let stdout = '';
  let stderr = '';
  const code = await main(args, {
    out: (text) => {
      stdout += text;
    },
    err: (text) => {
      stderr += text;
    },
  });
  return { code, stdout, stderr };
}
