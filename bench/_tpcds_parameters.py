"""Changes of data and parameters, because a third of TPC-DS' queries have no output at 1/100 of the smallest scale.

At that scale there is one store, one warehouse and one web page, and a thousand customers who hardly ever return. So
`CHANGES` adds a second warehouse, a dozen regular customers who live near the store, a day of sales, and orders without
returns. `PARAMETERS` replaces the constants of a query, which the query generator drew for a larger scale; otherwise
the query is unchanged.
"""

from __future__ import annotations

import re

REGULARS = 12  # customers, and addresses, in every second order
SALE = 2451547  # 3 January 2000, in every twentieth order

# For each table of sales or returns: its order, and the columns of customers and addresses.
_ORDERS = {
    "store_sales": ("ss_ticket_number", "ss_customer_sk ss_addr_sk"),
    "store_returns": ("sr_ticket_number", "sr_customer_sk sr_addr_sk"),
    "catalog_sales": (
        "cs_order_number",
        "cs_bill_customer_sk cs_ship_customer_sk cs_bill_addr_sk cs_ship_addr_sk",
    ),
    "catalog_returns": (
        "cr_order_number",
        "cr_refunded_customer_sk cr_returning_customer_sk cr_refunded_addr_sk cr_returning_addr_sk",
    ),
    "web_sales": (
        "ws_order_number",
        "ws_bill_customer_sk ws_ship_customer_sk ws_bill_addr_sk ws_ship_addr_sk",
    ),
    "web_returns": (
        "wr_order_number",
        "wr_refunded_customer_sk wr_returning_customer_sk wr_refunded_addr_sk wr_returning_addr_sk",
    ),
}


def _regular(table: str, order: str, columns: str) -> str:
    changed = ", ".join(f"{column} = 1 + {column} % {REGULARS}" for column in columns.split())
    return f"update {table} set {changed} where {order} % 2 = 0"


CHANGES = (
    *(_regular(table, order, columns) for table, (order, columns) in _ORDERS.items()),
    f"update store_sales set ss_sold_date_sk = {SALE} where ss_ticket_number % 20 = 0",
    f"update catalog_sales set cs_sold_date_sk = {SALE} where cs_order_number % 20 = 0",
    f"update web_sales set ws_sold_date_sk = {SALE} where ws_order_number % 20 = 0",
    "update customer_address set ca_county = 'Williamson County', ca_state = 'TN', ca_zip = '31904' "
    "where ca_address_sk in (select c_current_addr_sk from customer where c_customer_sk between 1 and 6)",
    "update web_returns set wr_returning_cdemo_sk = wr_refunded_cdemo_sk where wr_order_number % 2 = 0",
    "delete from web_returns where wr_order_number % 5 = 0",
    "delete from catalog_returns where cr_order_number % 5 = 0",
    "insert into warehouse select * replace (2 as w_warehouse_sk, 'AAAAAAAACAAAAAAA' as w_warehouse_id, "
    "'Second' as w_warehouse_name) from warehouse where w_warehouse_sk = 1",
    "update catalog_sales set cs_warehouse_sk = 2 where cs_item_sk // 2 % 2 = 0 and cs_warehouse_sk is not null",
    "update web_sales set ws_warehouse_sk = 2 where ws_item_sk // 2 % 2 = 0 and ws_warehouse_sk is not null",
    "update inventory set inv_warehouse_sk = 2 where inv_item_sk % 3 = 0",
)

_MAKERS = "310, 627, 187, 168, 117, 865, 46, 207, 553"
_ANY_PRICE = "BETWEEN 0 AND 300"
_ANY_PROFIT = "BETWEEN -10000 AND 10000"
_PRICES = r"BETWEEN (100\.00 AND 150\.00|50\.00 AND 100\.00|150\.00 AND 200\.00)"
_DAYS = ", ".join(f"'2000-{month:02}-14'" for month in (1, 2, 3, 4, 5, 7, 8, 12)) + ", '2001-01-14', '2001-02-14'"

# Regular expressions for parts of a query, and their replacements.
PARAMETERS: dict[int, tuple[tuple[str, str], ...]] = {
    3: ((r"i_manufact_id = 128", "i_manufact_id = 310"),),
    4: ((r"2001", "1999"),),
    8: ((r"'24128'", "'31904', '24128'"), (r"count\(\*\) > 10", "count(*) > 0")),
    10: (
        (r"'Rush County'", "'Madison County', 'Washington County', 'Crawford County', 'Grant County', 'Rush County'"),
        (r"1\+3", "12"),
    ),
    13: (
        (_PRICES, _ANY_PRICE),
        (r"BETWEEN \d+ AND \d+\b(?=\))", _ANY_PROFIT),
        (r"'(TX|OR|VA)',", r"'KS', 'GA', 'IA', '\1',"),
    ),
    16: ((r"'GA'", "'PA'"), (r"2002-02-01", "1999-02-01"), (r"2002-04-02", "1999-12-31")),
    19: ((r"i_manager_id=8", "i_manager_id=5"),),
    23: ((r">4", ">1"), (r"50/100\.0", "5/100.0")),
    24: ((r"s_market_id=8", "s_market_id=2"), (r"'peach'", "'papaya'")),
    30: ((r"d_year = 2002", "d_year = 2001"), (r"'GA'", "'TX'")),
    32: ((r"= 977", "= 310"),),
    37: ((r"677,\s+940", f"{_MAKERS}, 677, 940"), (r"\b68\b", "1"), (r"\+ 30", "+ 97")),
    39: ((r"> 1\)", "> 0.5)"),),
    41: ((r"738 AND 738\+40", "1 AND 1000"), (r"i_size = '(medium|N/A|petite)'", "i_size IS NOT NULL")),
    44: ((r"= 4\b", "= 1"),),
    49: ((r"> 10000", "> 100"),),
    58: ((r"0\.9", "0.1"), (r"1\.1", "10")),
    64: (
        (r"'purple'", "'red', 'yellow', 'purple'"),
        (r"64 AND 64 \+ 10", "0 AND 100"),
        (r"64 \+ 1 AND 64 \+ 15", "0 AND 100"),
    ),
    65: ((r"0\.1 \*", "0.8 *"),),
    73: (
        (r"BETWEEN 1 AND 2\b", "BETWEEN 1 AND 28"),
        (r"> 1\b(?=\s+AND date)", "> 0.1"),
        (r"BETWEEN 1 AND 5\b", "BETWEEN 1 AND 50"),
    ),
    82: ((r"129,\s+270", f"{_MAKERS}, 129, 270"), (r"62(?=\+| AND)", "1"), (r"\+30", "+97")),
    83: ((r"'2000-06-30'", f"{_DAYS}, '2000-06-30'"),),
    85: (
        (_PRICES, _ANY_PRICE),
        (r"BETWEEN (100 AND 200|150 AND 300|50 AND 250)\b", _ANY_PROFIT),
        (r"d_year = 2000", "d_year BETWEEN 1998 AND 2003"),
        (r"'(IN|WI|LA)',", r"'KS', 'GA', 'TN', 'TX', 'MO', '\1',"),
    ),
    88: ((r"'ese'", "'ought'"),),
    90: ((r"5000 AND 5200", "2000 AND 5200"),),
    91: (
        (r"d_year = 1998\s+AND d_moy = 11", "d_year BETWEEN 1998 AND 2003"),
        (r"'Unknown%'", "'%0%'"),
        (r"= -7", "BETWEEN -9 AND -5"),
    ),
    92: ((r"= 350", "= 310"),),
    93: ((r"'reason 28'", "'Package was damaged'"),),
    94: ((r"'pri'", "'cally'"), (r"'IL'", "'MT'"), (r"1999-04-02", "1999-12-31")),
    95: ((r"'pri'", "'cally'"), (r"'IL'", "'MT'"), (r"1999-04-02", "1999-12-31")),
    96: ((r"'ese'", "'ought'"),),
}


def with_parameters(number: int, text: str) -> str:
    """Return a query with parameters for which it has an output."""
    for pattern, value in PARAMETERS.get(number, ()):
        text, count = re.subn(pattern, value, text)
        if not count:
            raise ValueError(f"query {number} has no {pattern!r}: its text is another than the one known here")
    return text
