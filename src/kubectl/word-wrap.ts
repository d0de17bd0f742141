// Breaks lines at words (upstream: mitchellh/go-wordwrap, which keeps the spaces between words as they are).

export function wrapWords(text: string, limit: number): string {
  let out = "";
  let width = 0;
  let spaces = "";
  let word = "";
  const take = (withSpaces: boolean) => {
    width += spaces.length + word.length;
    out += (withSpaces ? spaces : "") + word;
    spaces = "";
    word = "";
  };
  for (const char of text) {
    if (char === "\n") {
      if (word === "" && width + spaces.length > limit) spaces = "";
      take(true);
      out += "\n";
      width = 0;
    } else if (/\s/.test(char) && char !== "\u00a0") {
      if (spaces === "" || word !== "") take(true);
      spaces += char;
    } else {
      word += char;
      if (width + spaces.length + word.length > limit && word.length < limit) {
        out += "\n";
        width = 0;
        spaces = "";
      }
    }
  }
  if (word !== "" || width + spaces.length <= limit) take(true);
  return out;
}
