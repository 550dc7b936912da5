"""Strings on which the tokenizer must agree with its reference."""

ENGLISH = [
    "", "a", "A", " ", "Hello", "Hello world", "Hello, world!", " Hello", "Hello ", "  Hello  world  ",
    "The quick brown fox jumps over the lazy dog.", "THE QUICK BROWN FOX", "tHe QuIcK bRoWn FoX",
    "The capital of France is", "To be, or not to be: that is the question.", "\"Quoted\" and 'single quoted'",
    "well-known, state-of-the-art", "e.g. i.e. etc. vs. Mr. Smith", "What?! No way... (really)", "snake_case and camelCase",
    "https://example.com/a/b?c=d&e=f#g", "user.name+tag@example.co.uk", "#hashtag @mention", "C:\\Users\\name\\file.txt",
    "antidisestablishmentarianism", "supercalifragilisticexpialidocious", "aaaaaaaaaaaaaaaa", "zzzzzzzzz", "ababababab",
    "the the the the", "Thethethethe", "naïve café résumé", "Ünïcödé", "fiancée’s", "“curly” ‘quotes’", "em—dash en–dash",
]

CONTRACTIONS = [
    "I'm", "you're", "he's", "we've", "they'll", "she'd", "don't", "I'M", "YOU'RE", "HE'S", "WE'VE", "THEY'LL", "SHE'D", "DON'T",
    "'s", "'t", "'re", "'ve", "'m", "'ll", "'d", " 's", "''s", "'s's", "'S", "'LL", "'Ll", "'lL", "'l", "'v", "'r", "'", "''", "' s",
    "it's's", "'sound", "'tis", "'twas", "rock'n'roll", "o'clock", "x'5", "5's", "dogs'", "it’s", "don’t", "'ſ", "a'ſb", "'ﬆ", "'ſt",
]

NUMBERS = [
    "0", "7", "42", "123", "1234", "12345678901234567890", "3.14159", "-1", "+1", "1e10", "1,000,000", "0xFF", "0b1010", "1/2",
    "50%", "$9.99", "€1.234,56", "2024-01-31", "12:34:56", "v1.2.3", "a1b2c3", "1st 2nd 3rd", "  1", " 1 ", "1  2", "٠١٢٣", "१२३",
    "๑๒๓", "½ ¼ ¾", "² ³ ¹", "Ⅷ Ⅻ", "①②③", "𝟘𝟙𝟚", "一二三", "〇", "１２３", "1\n2\n3", "1'2", "x²+y²=z²", "10⁻⁹",
]

CODE = [
    "int main() { return 0; }", "for (int i = 0; i < n; ++i) {\n    sum += a[i];\n}", "def f(x):\n    return x ** 2\n",
    "\tif (x) {\n\t\treturn;\n\t}", "a->b::c.d", "x == y && z != w || !v", "#include <stdio.h>", "// comment\n/* block */",
    "SELECT * FROM t WHERE a = 'b';", "<html><body class=\"x\">&nbsp;</body></html>", "{\"key\": [1, 2, null, true]}",
    "\\frac{a}{b} \\alpha", "```python\nprint('hi')\n```", "$HOME/bin:$PATH", "a\\nb\\tc", "====", "----", "____", "....", "!!!!????",
    "()[]{}<>", "[[1,2],[3,4]]", "lambda x: x+1", "std::vector<std::string>", "fn main() -> Result<(), E> {}", "@@ -1,3 +1,4 @@",
    "\r\n", "a\r\nb\r\n", "line\r", "\r\r", "\n\r\n",
]

SPACES = [
    "  ", "   ", "    ", "        ", " " * 33, "\t", "\t\t", "\t\t\t", "\n", "\n\n", "\n\n\n", "\n" * 17, " \n", "\n ", " \n ", "  \n  ",
    " \t \t", "a  b", "a   b", "a    b", "a\tb", "a \tb", "a\t b", "a\nb", "a\n\nb", "a \n b", "a\n \nb", "a  \n", "\n  a", "\n\n  a", "a\n    b",
    " a", "  a", "   a", "a ", "a  ", "a   ", " !", "  !", "   !", "! ", "\v", "\f", "a\v\fb", "\n\t\n\t", " \r\n \r\n x",
    "a\u00a0b", "\u00a0", "\u00a0\u00a0x", " \u00a0 x", "a\u2003b", "\u2009\u200ax", "\u3000", "a\u3000b", "\u3000\u3000a", "\u1680x", "\u2028", "a\u2029b",
    "\u202fx", "\u205f x", "\u0085", "a\u0085b", "\u200b", "a\u200bb", "\u180ex", "\ufeff", "\ufeffHello", "a\ufeffb", "\u2060x",
]

SCRIPTS = [
    "你好，世界！", "中文没有空格", "日本語のテキスト", "カタカナとひらがな", "한국어 텍스트입니다", "漢字 with English 混合",
    "𠀀𠀁𪚥", "ㄅㄆㄇ", "مرحبا بالعالم", "السلام عليكم ورحمة الله", "العَرَبِيَّة", "فارسی نیم‌فاصله", "שלום עולם", "שָׁלוֹם",
    "สวัสดีชาวโลก", "ภาษาไทยไม่มีช่องว่าง", "नमस्ते दुनिया", "हिन्दी क्षत्रिय", "বাংলা ভাষা", "தமிழ் மொழி", "తెలుగు", "ಕನ್ನಡ", "മലയാളം",
    "Привет, мир!", "Съешь же ещё этих мягких французских булок", "Ελληνικά γράμματα", "ΆΈΉ ΐ ΰ", "Türkçe İıĞğ", "Tiếng Việt", "Łódź żółć",
    "Straße ẞ", "ქართული", "Հայերեն", "አማርኛ", "ᏣᎳᎩ", "ខ្មែរ", "မြန်မာ", "བོད་ཡིག", "ລາວ", "සිංහල", "ᠮᠣᠩᠭᠣᠯ", "ꦗꦮ", "𐎀𐎁", "𓀀𓀁",
]

EMOJI = [
    "🦙", "😀", "😀😃😄", "hi 😀 there", "👍🏽", "👋🏿 hello", "👨‍👩‍👧‍👦", "👩🏽‍💻", "🏳️‍🌈", "🇩🇪🇫🇷", "❤️", "❤", "☺️", "1️⃣", "#️⃣", "🧑‍🚀🚀", "a🙂b", "🙂 🙂",
    "©®™", "→ ⇒ ∀∃ ∑∫", "♠♣♥♦", "■□▲", "ﷺ", "𝓗𝓮𝓵𝓵𝓸", "🅰️", "🤷‍♂️",
]

COMBINING = [
    "e\u0301", "cafe\u0301", "caf\u00e9", "a\u0308o\u0308u\u0308", "Z\u0351\u036b\u0343a\u0307l\u0334g\u0321o\u0315", "\u0301", " \u0301x", "a\u0301\u0301\u0301",
    "1\u0301", "!\u0301", "\u1100\u1161\u11a8", "\u0915\u094d\u0937", "o\u20dd", "x\ufe0f", "n\u0303o", "\u200dx", "a\u200d\u200cb",
]

CONTROLS = [
    "\0", "a\0b", "\x01\x02\x03", "!\x04!", "\x04", "a\x06b", "\x07", "\x08", "\x1b[31mred\x1b[0m", "\x7f", "\x80\x9f", "\x13\x14\x16", "a\x1db", "\u00ad", "so\u00adft",
    "\ue000", "\uf8ff", "\ufffd", "\ufffe", "\uffff", "\U000e0041", "\U000f0000", "\U0010ffff", "\u202eabc\u202c", "\u061c", "\u2066x\u2069",
]

SPECIAL = [
    "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|im_start|>user\nHi<|im_end|>\n", "a<|im_end|>b", "a <|im_end|> b", "<|im_end|><|im_end|>",
    "<|im_end|", "|im_end|>", "<|im_start|<|im_start|>", "<<|im_end|>>", "<repo_name>", "<reponame>", "<repo_name", "<file_sep>x<filename>", "<gh_stars>5",
    "<issue_start><issue_comment><issue_closed>", "<jupyter_start>1<jupyter_output>2", "<empty_output>", "<|IM_END|>", "< |im_end|>", "  <|im_end|>  ",
    "<|im_start|>assistant\n", "'s<|im_end|>'s", "1<|im_end|>2", "\n<|im_end|>\n", "<s>", "</s>", "[INST]",
]

LONG = [
    "a" * 5000, "ab" * 3000, "abc" * 2000, " " * 5000, "\n" * 3000, "\t" * 1000, "1" * 2000, "é" * 1000, "中" * 1000, "🦙" * 500, "the" * 2000,
    "=" * 3000, "-" * 777, "x1" * 1000, " a" * 2000, "'s" * 1000, "Donaudampfschifffahrtsgesellschaftskapitän" * 20, "<|im_end|>" * 300,
    "e\u0301" * 800, "\u3000" * 500, "The quick brown fox. " * 200, "x = [1, 2, 3]\n" * 200,
]

REFERENCE = ENGLISH + CONTRACTIONS + NUMBERS + CODE + SPACES + SCRIPTS + EMOJI + COMBINING + CONTROLS + SPECIAL + LONG

INVALID = [
    b"\x80", b"\xff", b"\xfe\xff", b"a\xffb", b"\xc3", b"\xc3(", b"\xe6\xad", b"\xe6\xad.", b"\xf0\x9f\xa6", b"\xf0\x9f\xa6 \x99", b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80", b"\xc0\xaf", b"\xe0\x80\x80", b" \xff ", b"\xff" * 50, b"ok \xe2\x82 ok", b"\xf8\x88\x80\x80\x80", bytes(range(256)),
    bytes(reversed(range(256))), b"'s\xff's", b"1\xff2", b"\n\xff\n", b"<|im_end|\xff>",
]

# What random strings are mixed from: single characters of these ranges, and the pieces.
RANGES = [
    (0x20, 0x7E), (0x61, 0x7A), (0x30, 0x39), (0x00, 0x1F), (0x80, 0xFF), (0x100, 0x24F), (0x300, 0x36F), (0x370, 0x52F), (0x590, 0x6FF),
    (0x900, 0x97F), (0xE00, 0xE7F), (0x1100, 0x11FF), (0x1E00, 0x1FFF), (0x2000, 0x206F), (0x2070, 0x218F), (0x2190, 0x2BFF), (0x3000, 0x30FF),
    (0x4E00, 0x9FFF), (0xA000, 0xABFF), (0xAC00, 0xD7A3), (0xE000, 0xFFFF), (0x10000, 0x1FFFF), (0x1F300, 0x1FAFF), (0x20000, 0x2FFFF), (0xE0000, 0xE01EF),
]
PIECES = [
    " ", " ", "  ", "\n", "\r\n", "\t", "'", "'s", "'LL", "'ſ", "the", " and", "ing", "1", "23", ".", "...", "<|im_end|>", "<|im_start|>", "<repo", "\u00a0", "\u3000", "\u200d",
    "\u0301", "\ufe0f", "🏽", "'re", "_", "==", "é",
]
