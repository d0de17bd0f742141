// Whether a text is one address of mail, with or without the name of its owner. Follows Go's net/mail.ParseAddress, without comments and
// encoded words inside of names.

const atom = String.raw`[A-Za-z0-9!#$%&'*+/=?^_\`{|}~\-]|[^\x00-\x7f]`;
const dotAtom = `(?:${atom})+(?:\\.(?:${atom})+)*`;
const quoted = String.raw`"(?:[^"\\\x00-\x08\x0a-\x1f\x7f]|\\[^\x00-\x08\x0a-\x1f\x7f])*"`;
const literal = String.raw`\[[^\[\]\\\x00-\x20\x7f]*\]`;

const local = new RegExp(`^(?:${dotAtom}|${quoted})$`);
const domain = new RegExp(`^(?:${dotAtom}|${literal})$`);
const words = new RegExp(`^(?:${quoted}|(?:${atom}|\\.)+)(?:[ \\t]+(?:${quoted}|(?:${atom}|\\.)+))*$`);

export function isEmail(text: string): boolean {
  const trimmed = text.trim();
  const open = trimmed.endsWith(">") ? trimmed.lastIndexOf("<") : -1;
  if (open < 0) return isAddress(trimmed);
  const name = trimmed.slice(0, open).trimEnd();
  return (name === "" || words.test(name)) && isAddress(trimmed.slice(open + 1, -1));
}

function isAddress(text: string): boolean {
  const at = text.lastIndexOf("@");
  return at > 0 && local.test(text.slice(0, at)) && domain.test(text.slice(at + 1));
}
