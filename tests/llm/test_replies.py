from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aide_jupyter.llm.replies import PROGRAM_BYTES, BadReply, Review, parse_program, parse_review

CODE = 'import math\nx = math.pi\nprint(f"Validation metric: {x}")'


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("```python", "```"),
        ("```py", "```"),
        ("```Python3", "```"),
        ("``` python", "```"),
        ('```python title="solution.py"', "```"),
        ("```{python}", "```"),
        ("```", "```"),
        ("````python", "````"),
        ("~~~", "~~~"),
        ("~~~python", "~~~"),
        ("  ```python", "  ```"),
    ],
)
def test_a_program_is_read_from_any_fence(opening: str, closing: str) -> None:
    program = parse_program(f"Fit a model.\n\n{opening}\n{CODE}\n{closing}\nDone.")
    assert program.code == CODE + "\n"
    assert program.plan == "Fit a model."


def test_a_fence_inside_a_list_item_loses_its_indentation() -> None:
    body = "\n".join("    " + line for line in CODE.split("\n"))
    assert parse_program(f"1. Do it:\n    ```python\n{body}\n    ```").code == CODE + "\n"


def test_a_reply_without_a_fence_is_split_into_plan_and_program() -> None:
    program = parse_program(f"Ridge on the numeric columns.\n\n\n# Ridge.\n{CODE}\n")
    assert program.plan == "Ridge on the numeric columns."
    assert program.code.startswith("# Ridge.\nimport math")


def test_a_reply_that_is_only_code_takes_its_plan_from_the_first_comment() -> None:
    assert parse_program(f"# Ridge with logs.\n{CODE}").plan == "Ridge with logs."


def test_code_is_not_reformatted() -> None:
    odd = "x   =  {  'a' :1 }\nprint( x )   # kept\n\n\n\ny=2"
    assert parse_program(f"Plan.\n```python\n{odd}\n```").code == odd + "\n"


def test_windows_line_ends_are_read() -> None:
    reply = f"Plan.\n```python\n{CODE}\n```".replace("\n", "\r\n")
    assert parse_program(reply).code == CODE + "\n"


def test_parts_of_one_program_are_joined_in_order() -> None:
    reply = "Plan.\n```python\nimport math\n```\nthen\n```python\nprint('Validation metric:', math.pi)\n```"
    assert parse_program(reply).code == "import math\n\nprint('Validation metric:', math.pi)\n"


def test_the_complete_program_is_preferred_to_snippets_around_it() -> None:
    before = "Plan.\n```bash\npip install x\n```\n```python\nmodel.fit(x)\n```\n"
    reply = f"{before}```python\n{CODE}\n```\n```python\nhelp(x)\n```"
    assert parse_program(reply).code == CODE + "\n"


def test_of_two_complete_programs_the_last_counts() -> None:
    better = CODE.replace("math.pi", "math.e")
    assert parse_program(f"A.\n```python\n{CODE}\n```\nBetter:\n```python\n{better}\n```").code == better + "\n"


def test_a_block_given_twice_is_taken_once() -> None:
    part = "import math\nprint(math.pi)"
    assert parse_program(f"P.\n```python\n{part}\n```\nAgain:\n```python\n{part}\n```").code == part + "\n"


def test_a_block_that_is_not_python_does_not_hide_one_that_is() -> None:
    assert parse_program(f"P.\n```python\nfor x in ...:\n```\n```python\n{CODE}\n```").code == CODE + "\n"


def test_backticks_inside_the_program_do_not_end_it() -> None:
    code = 'DOC = """\n```\nusage\n```\n"""\nprint("Validation metric: 1")'
    assert parse_program(f"Plan.\n```python\n{code}\n```\n").code == code + "\n"


def test_reasoning_is_removed() -> None:
    reply = f"<think>first\n```python\nimport os\n```\nno</think>\nPlan.\n```python\n{CODE}\n```"
    assert parse_program(reply).code == CODE + "\n"
    assert parse_program(reply.removeprefix("<think>")).plan == "Plan."


def test_reasoning_that_never_ends_is_no_program() -> None:
    with pytest.raises(BadReply, match="cut off"):
        parse_program(f"<think>hm\n```python\n{CODE}\n```", cut=True)


def test_an_unclosed_fence_is_read_where_the_reply_was_not_cut() -> None:
    assert parse_program(f"Plan.\n```python\n{CODE}\n").code == CODE + "\n"


@pytest.mark.parametrize("fence", ["```python\n", ""])
def test_a_reply_cut_by_its_length_limit_is_refused_even_where_it_is_valid(fence: str) -> None:
    with pytest.raises(BadReply, match="cut off"):
        parse_program(f"Plan.\n{fence}{CODE}", cut=True)


def test_a_reply_cut_after_its_program_is_read() -> None:
    assert parse_program(f"Plan.\n```python\n{CODE}\n```\nThis program is", cut=True).code == CODE + "\n"


def test_a_cut_program_that_does_not_parse_says_that_it_was_cut() -> None:
    with pytest.raises(BadReply, match="cut off"):
        parse_program("Plan.\n```python\nimport math\nx = math.sqrt(")


@pytest.mark.parametrize("reply", ["", "  \n ", "Sorry, I cannot do that.", "No", "42", "Use ridge.\n\nIt works."])
def test_a_reply_without_a_program_is_refused(reply: str) -> None:
    with pytest.raises(BadReply):
        parse_program(reply)


@pytest.mark.parametrize("line", ["!pip install x", "%matplotlib inline", "%%time"])
def test_magics_are_refused_with_words(line: str) -> None:
    with pytest.raises(BadReply, match=r"magic or shell escape"):
        parse_program(f"P.\n```python\nimport os\n{line}\n```")


def test_a_syntax_error_is_told_with_its_line() -> None:
    with pytest.raises(BadReply, match=r"not valid Python: .*line 2"):
        parse_program("P.\n```python\nx = 1\ny = = 2\n```")


def test_nul_characters_are_refused_and_surrogates_replaced() -> None:
    with pytest.raises(BadReply, match="NUL"):
        parse_program("P.\n```python\nprint('\x00')\n```")
    code = parse_program("P.\n```python\nprint('\udcff')\n```").code
    assert code == "print('\ufffd')\n"
    code.encode()


def test_a_program_over_the_size_cap_is_refused() -> None:
    with pytest.raises(BadReply, match="bytes"):
        parse_program("P.\n```python\nimport os\n" + "x = 1\n" * (PROGRAM_BYTES // 6) + "```")


def test_a_program_nested_too_deeply_is_refused() -> None:
    with pytest.raises(BadReply):
        parse_program("P.\n```python\nx = " + "-" * 100_000 + "1\n```")


def test_thousands_of_fences_are_read_in_bounded_time() -> None:
    with pytest.raises(BadReply):
        parse_program("```\n(\n" * 50_000)


def test_warnings_about_the_code_do_not_reach_the_caller() -> None:
    assert parse_program("P.\n```python\nprint('\\d' is 'x')\n```").code


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet=st.sampled_from("`~\n #python:x=1(){}\"'\\<>/thin\udc80\x00"), max_size=200), st.booleans())
def test_whatever_comes_is_a_valid_program_or_a_bad_reply(text: str, cut: bool) -> None:
    try:
        program = parse_program(text, cut=cut)
    except BadReply as error:
        assert error.message
    else:
        ast.parse(program.code)
        (program.plan + program.code).encode()


def test_a_review_is_read_from_a_tool_call() -> None:
    assert parse_review("", '{"failed": false, "summary": "Logs help.", "metric": 3}') == Review(False, "Logs help.")


@pytest.mark.parametrize(
    "text",
    [
        '{"failed": true, "summary": "Wrong column."}',
        'Here it is:\n```json\n{"failed": true, "summary": "Wrong column."}\n```',
        'Of {a, b}: {"failed": "true", "summary": "Wrong column."} as asked',
        '<think>{"failed": false}</think>{"failed": true, "summary": "Wrong column."}',
        '{"failed": true, "summary": "Wrong column.',
        '{"failed": true, "summary": "Wrong column."',
    ],
)
def test_a_review_is_read_from_json_in_text_also_where_it_is_cut(text: str) -> None:
    assert parse_review(text) == Review(True, "Wrong column.")


def test_cut_arguments_of_a_tool_call_are_read_as_far_as_they_go() -> None:
    assert parse_review("", '{"failed": false, "summary": "It fin') == Review(False, "It fin")


def test_plain_text_is_a_summary_without_a_verdict() -> None:
    assert parse_review("Looks fine to me.") == Review(None, "Looks fine to me.")


def test_a_verdict_that_is_no_boolean_is_not_taken() -> None:
    assert parse_review('{"failed": 0.3, "summary": "x"}').failed is None


@pytest.mark.parametrize(("text", "arguments"), [("", None), ("  ", ""), ("", "{}"), ("<think>hm", None)])
def test_a_reply_without_a_review_is_refused(text: str, arguments: str | None) -> None:
    with pytest.raises(BadReply):
        parse_review(text, arguments)


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet=st.sampled_from('{}[]":,truefalsdmy \\\n\ud800'), max_size=120))
def test_whatever_comes_is_a_review_or_a_bad_reply(text: str) -> None:
    try:
        review = parse_review(text, text)
    except BadReply:
        return
    review.summary.encode()
