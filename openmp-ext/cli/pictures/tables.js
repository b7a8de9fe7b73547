// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sections, and tables beside the pictures: the same numbers for those who read or use the
// keyboard. A column is {title, of: row => value, as: value => text, words: whether it is text}; a
// value of null is "-".

const rowsAtFirst = 20;

function element(name, properties = {}, ...inside) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...inside);
  return made;
}

const faint = text => element("p", {className: "faint", textContent: text});

function section(title, parts) {
  document.querySelector("main").append(
      element("section", {}, element("h2", {textContent: title}), ...parts));
}

function cellOf(column, row, first) {
  const value = column.of(row);
  const text = value === null || value === undefined ? "-" :
      column.as                                      ? column.as(value, row) :
                                                       String(value);
  const shown = cutName(text);
  const cell =
      element(first ? "th" : "td", {textContent: shown, className: column.words ? "words" : ""});
  if (shown !== text) cell.title = text;
  if (first) cell.scope = "row";
  if (typeof value === "number") cell.dataset.value = value;
  return cell;
}

function compare(a, b, falls) {
  if (a === b) return 0;
  if (a === null || a === undefined) return 1;
  if (b === null || b === undefined) return -1;
  return (a < b ? -1 : 1) * (falls ? -1 : 1);
}

function fillRows(body, columns, rows, most) {
  body.replaceChildren(...rows.slice(0, most).map(
      row => element("tr", {}, ...columns.map((column, i) => cellOf(column, row, i === 0)))));
}

// id: the tests' name for it. leftOut: how many more rows there are than the page has; its wholeList
// says where they are.
function tableOf(id, caption, columns, rows, leftOut = 0) {
  const body = element("tbody"), heads = element("tr");
  let most = rowsAtFirst;
  columns.forEach((column, number) => {
    const head = element("th", {scope: "col", className: column.words ? "words" : ""});
    const button = element("button", {type: "button", title: "sort", textContent: column.title});
    button.onclick = () => {
      const falls = column.words ? head.ariaSort === "ascending" : head.ariaSort !== "descending";
      for (const other of heads.children)
        other.ariaSort = "none";
      head.ariaSort = falls ? "descending" : "ascending";
      rows = [...rows].sort((a, b) => compare(column.of(a), column.of(b), falls));
      fillRows(body, columns, rows, most);
    };
    head.append(button);
    heads.append(head);
  });
  fillRows(body, columns, rows, most);
  const whole =
      element("div", {className: "scrolls", tabIndex: 0, role: "group", ariaLabel: caption},
              element("table", {id}, element("caption", {textContent: caption}),
                      element("thead", {}, heads), body));
  const parts = [whole];
  if (leftOut > 0)
    parts.push(element("p", {
      className: "faint",
      textContent: "and " + countText(leftOut) + " more, which " + wholeList + " has"
    }));
  if (rows.length <= most) return parts;
  const more = element("button", {
    type: "button",
    className: "more",
    textContent: "Show all " + countText(rows.length) + " rows"
  });
  more.onclick = () => {
    most = Infinity;
    fillRows(body, columns, rows, most);
    more.remove();
    whole.focus(); // the keyboard goes on here
  };
  return [whole, more, ...parts.slice(1)];
}

// Folded below a picture that already says it.
function folded(title, parts) {
  return element("details", {}, element("summary", {textContent: title}), ...parts);
}
