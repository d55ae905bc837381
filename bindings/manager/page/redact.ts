/**
 * Removes from texts of errors what looks like a secret. An error may quote a header, a URL with a
 * password, or the data of a Secret; readers of the page may debug the process but not read
 * Secrets.
 *
 * It cannot recognise every secret: a password that is an ordinary word looks like one. It
 * therefore removes too much rather than too little. In an error about Secrets (`strict`) it
 * removes every quoted text except the names that an API server quotes. Texts come from outside, so
 * their length is limited first, and every pattern is linear in it.
 */

import { wordsEnd } from '../../base/error-text.ts';

/** The most characters that are read of a text and shown of it, in UTF-16 code units. */
const READ = 16_384;
const SHOWN = 2000;

const GONE = '‹redacted›';

/**
 * A word that precedes a secret, alone or as the end of a longer word (`client_secret`,
 * `DB_PASSWORD`).
 */
const SECRET_WORD =
  'credentials?|passw(?:or)?ds?|passphrases?|pwd|tokens?|signature|client[-_]?secret|client[-_]key[-_]data|' +
  '(?:access|account|api|auth|encryption|master|private|secret|session|shared|signing|storage)[-_]?keys?(?:[-_](?:base|data))?';

/**
 * A quoted text, also with escaped quotes as in JSON that was quoted again; it then ends at the
 * same escaped quote.
 */
const IN_QUOTES =
  `(?<escapes>\\\\{1,7})(?<quote>["'\`])(?:(?!(?<!\\\\)\\k<escapes>\\k<quote>)[\\s\\S])*(?:\\k<escapes>\\k<quote>)?|` +
  `"(?:[^"\\\\]|\\\\[\\s\\S])*"?|'(?:[^'\\\\]|\\\\[\\s\\S])*'?|\`[^\`]*\`?|“[^”]*”?|‘[^’]*’?|«[^»]*»?`;

/** What an API server writes before a value that it refuses. */
const REFUSING = '(?:invalid|unsupported|duplicate) value:';

/** What an API server writes about a field whose value it does not quote. */
const NO_VALUE =
  '(?!(?:required value|forbidden|not found|too (?:long|many|few)|internal error)\\b)';

/** Not after the kind in our own errors: what follows `watch of v1 Secret: ` is not a secret. */
const NO_KIND =
  '(?<!\\b(?:list|watch|reflector) of (?:[a-z0-9.-]{1,253}/)?v\\d\\w{0,20} \\w{1,63})';

/** `\"`, `"` or nothing. */
const QUOTE = '(?:\\\\{0,7}["\'`])?';

const RULES: readonly (readonly [RegExp, string])[] = [
  [
    /-----BEGIN [A-Z0-9 ]{1,64}-----(?:(?!-----END )[\s\S])*(?:-----END [A-Z0-9 ]{1,64}-----)?/g,
    GONE,
  ],
  // user:password@host; the user name stays. A password may contain anything but spaces and quotes;
  // what begins with a port is not one.
  [
    /(\b[a-z][a-z0-9+.-]{0,30}:\/\/[^\s/:@"']{0,128}):(?!\d{1,5}[/?#])[^\s"']{1,512}@/gi,
    `$1:${GONE}@`,
  ],
  // up to the end of the line or of the quoted text, because there are many schemes and cookies
  [
    /\b((?:proxy-)?authorization|(?:set-)?cookie)((?:\\{0,7}["'`])?\s{0,4}[:=]\s{0,4}(?:\\{0,7}["'`])?)[^\n"'`]{1,16384}/gi,
    `$1$2${GONE}`,
  ],
  [/\b(bearer|basic|negotiate)(\s+)[\w.~+/=-]{6,}/gi, `$1$2${GONE}`],
  [/\beyJ[\w-]{6,}(?:\.[\w-]*)*/g, GONE], // a JSON Web Token
  // tokens with a known prefix
  [
    /\b(?:(?:gh[oprsu]|github_pat|npm|hf|dckr_pat|dop_v1|[prs]k_(?:live|test))_|(?:glpat|xapp|xox[abeprs]|sk)-|hvs\.|ya29\.|AIza|A[KS]IA)[\w-]{12,}/g,
    GONE,
  ],
  [/\b[a-z0-9]{6}\.[a-z0-9]{16}\b/g, GONE], // a kubeadm token
  // curl -u user:password, and .netrc
  [/((?<!\S)(?:-u|--user)[ =]{1,4}["']?[^\s:"']{0,128}:)[^\s"']+/g, `$1${GONE}`],
  [/(\blogin\s{1,4}\S{1,128}\s{1,4}password\s{1,4})\S+/g, `$1${GONE}`],
  // password "…", the password is "…"; but not secret "…", which is the name of a Secret
  [
    new RegExp(
      `((?:${SECRET_WORD})\\s{1,4}(?:(?:is|was|set to|value)\\s{1,4}){0,2})(?:${IN_QUOTES})`,
      'gi',
    ),
    `$1${GONE}`,
  ],
  // ?password%3D… and %22password%22%3A%22…, in percent-encoding
  [
    new RegExp(
      `((?:${SECRET_WORD}|secret)(?:%2[27])?%3[ad](?:%20)?(?:%2[27])?)(?:(?!%2[267]|&)[^\\s"'])+`,
      'gi',
    ),
    `$1${GONE}`,
  ],
  // password: | with the lines of its block
  [
    new RegExp(
      `((?:${SECRET_WORD}|secret)${QUOTE}:[ \\t]{1,4})` +
        '[|>][-+\\d]{0,2}[ \\t]*(?:\\n[ \\t]+[^\\n]*)+',
      'gi',
    ),
    `$1${GONE}`,
  ],
  // passphrase: with several words; tokens and keys contain no spaces
  [
    new RegExp(
      `((?:passw(?:or)?d|passphrase|pwd)${QUOTE}:[ \\t]{1,4})${NO_VALUE}` +
        `(?!${REFUSING}|‹|["'\`“‘«\\\\[])[^\\s,;)}\\]][^\\n,;)}\\]]*`,
      'gi',
    ),
    `$1${GONE}`,
  ],
  // "password": "…", token=…, DB_PASSWORD: …, "name":"DB_PASSWORD","value":"…"; a value in quotes
  // or brackets up to its end, otherwise up to the next space, comma or bracket
  [
    new RegExp(
      `((?:${SECRET_WORD}|secret|\\bsig|(?<![a-z])(?:pass|auth))${NO_KIND}${QUOTE}\\]?` +
        `(?:\\s{0,4},?\\s{0,8}${QUOTE}value${QUOTE})?\\s{0,4}[:=]\\s{0,4}(?:${REFUSING}\\s{1,4})?)` +
        `(?:${IN_QUOTES}|\\[[^\\]]*\\]?|${NO_VALUE}(?!‹)[^\\s,;&)}\\]]+)`,
      'gi',
    ),
    `$1${GONE}`,
  ],
  // --password … as a command-line argument
  [
    new RegExp(`(--[a-z0-9-]{0,64}?(?:${SECRET_WORD}|secret)[ \\t]{1,4})(?!‹)[^\\s-]\\S*`, 'gi'),
    `$1${GONE}`,
  ],
];

/** The characters of names of users, resources, groups and objects. */
const CALLED = '"[\\w.:/@-]{0,253}"';
/**
 * What an API server quotes if RBAC forbids a request or an object does not exist: the user, the
 * verb and names.
 */
const REFUSED =
  `\\bUser ${CALLED} cannot [a-z]{1,32} resource ${CALLED} in API group ${CALLED} ` +
  `(?:in the namespace ${CALLED}|at the cluster scope)|` +
  `(?<=s |\\.[a-z0-9.-]{1,253} )${CALLED}(?= is forbidden: | not found\\b)`;
/**
 * `secrets "db" not found`: the name of a Secret is not secret. An unclosed quote extends to the
 * end of the text, so that nothing is scanned twice.
 */
const QUOTED =
  /(\bsecrets?(?:\.v1)? )?("(?:[^"\\]|\\[\s\S])*"?|(?<!\w)'(?:[^'\\]|\\[\s\S])*'?|`[^`]*`?)/;
const REFUSED_OR_QUOTED = new RegExp(`(${REFUSED})|${QUOTED.source}`, 'gi');
const NAME = /^["'`][a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?["'`]$/;
/** An unquoted value that an API server refuses. */
const VALUE = new RegExp(`(\\b${REFUSING} )[^\\s"':]+`, 'gi');
/** The data of a Secret, as YAML and as Go prints it. */
const DATA = /(\b(?:string)?data:)(?:[ \t]*\n[ \t]+[^\n]*)+|(\bmap)\[[^\]]*\]?/gi;
/** A text that mentions Secrets, other than in the path of a mounted file. */
const MENTIONS = /(?<!\/(?:etc|mnt|run)\/)\bsecrets?\b/i;

/** Long enough for a key, with a mixture of characters that names and digests do not have. */
const LONG = /[A-Za-z0-9+/_-]{20,}={0,2}/g;
/** Padded base64 of any length: `cGFzcw==`. */
const PADDED =
  /(?<![\w+/=-])(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)(?![\w=])/g;

/** Hexadecimal digits that are not a digest (`sha256:…`). */
const HEX =
  /(?<!\bsha\d{1,3}[:-]|[A-Za-z0-9])(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{32,}(?![A-Za-z0-9])/g;
/** Longer than a part of a name. */
const LOWER = /(?<!\bsha\d{1,3}[:-]|[A-Za-z0-9])[a-z0-9]{24,}(?![A-Za-z0-9])/g;
/** The number of changes between letters and digits: high in random text, low in names. */
const turns = (run: string): number => run.match(/[a-z](?=\d)|\d(?=[a-z])/gi)?.length ?? 0;

/**
 * Distinguishes base64 with slashes from a path: it has one part like a key, or several short parts
 * that are not words.
 */
function looksRandom(run: string): boolean {
  const parts = run.split('/');
  const mixed = parts.filter((part) => /\d/.test(part) && /[A-Z]/.test(part));
  if (mixed.some((part) => part.length >= 8 && /[a-z]|.{16}/.test(part))) return true;
  if (/\+/.test(run)) return /[A-Z]/.test(run) && /[a-z]/.test(run);
  return parts.length > 1 && mixed.join('').length >= 7 && /[a-z]/.test(run);
}

/**
 * The text with secrets removed, at most about 2000 characters.
 *
 * @param strict the text is about Secrets; texts that mention Secrets are always treated so
 */
export function redact(text: string, strict = false): string {
  let out = text.slice(0, wordsEnd(text, READ));
  const isStrict = strict || MENTIONS.test(out);
  for (const [pattern, by] of RULES) out = out.replace(pattern, by);
  if (isStrict) {
    out = out.replace(REFUSED_OR_QUOTED, (all, refused?: string, before?: string, quoted = '') =>
      refused !== undefined || (before !== undefined && NAME.test(quoted))
        ? all
        : `${before ?? ''}${GONE}`,
    );
    out = out
      .replace(VALUE, `$1${GONE}`)
      .replace(DATA, (_, data = '', map = '') => `${data || map}${GONE}`);
  }
  out = out
    .replace(PADDED, GONE)
    .replace(HEX, GONE)
    .replace(LOWER, (run) => (turns(run) >= 6 ? GONE : run))
    .replace(LONG, (run) => (looksRandom(run) ? GONE : run));
  const left = text.length - READ;
  if (out.length > SHOWN)
    return `${out.slice(0, SHOWN).replace(/[\ud800-\udbff]$/, '')}… (${text.length} characters)`;
  return left > 0 ? `${out}… (${text.length} characters)` : out;
}
