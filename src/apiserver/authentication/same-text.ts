/** Takes as long whichever character differs, so that nobody learns a secret from how soon it is refused. */
export function isSameText(secret: string, shown: string): boolean {
  let difference = secret.length ^ shown.length;
  for (let i = 0; i < shown.length; i++) difference |= secret.charCodeAt(i) ^ shown.charCodeAt(i);
  return difference === 0;
}
