-- Items of a category that sold less than in the year before, returns taken off.
with all_sales as (
  select d_year, i_brand, i_class, sum(sales_cnt) as sales_cnt, sum(sales_amt) as sales_amt from (
    select d_year, i_brand, i_class, cs_quantity - coalesce(cr_return_quantity, 0) as sales_cnt,
      cs_sales_price - coalesce(cr_return_amount, 0.0) as sales_amt
    from catalog_sales join item on i_item_sk = cs_item_sk join date_dim on d_date_sk = cs_sold_date_sk
      left join catalog_returns on cs_order_number = cr_order_number and cs_item_sk = cr_item_sk
    where i_category = 'Books'
    union
    select d_year, i_brand, i_class, ss_quantity - coalesce(sr_return_quantity, 0) as sales_cnt,
      ss_sales_price - coalesce(sr_return_amt, 0.0) as sales_amt
    from store_sales join item on i_item_sk = ss_item_sk join date_dim on d_date_sk = ss_sold_date_sk
      left join store_returns on ss_ticket_number = sr_ticket_number and ss_item_sk = sr_item_sk
    where i_category = 'Books') sales_detail
  group by d_year, i_brand, i_class)
select prev_yr.d_year as prev_year, curr_yr.d_year as year, curr_yr.i_brand, curr_yr.i_class,
  curr_yr.sales_cnt - prev_yr.sales_cnt as sales_cnt_diff, curr_yr.sales_amt - prev_yr.sales_amt as sales_amt_diff
from all_sales curr_yr, all_sales prev_yr
where curr_yr.i_brand = prev_yr.i_brand and curr_yr.i_class = prev_yr.i_class
  and curr_yr.d_year = 2001 and prev_yr.d_year = 2000
  and cast(curr_yr.sales_cnt as decimal(17, 2)) / cast(prev_yr.sales_cnt as decimal(17, 2)) < 1.5
order by sales_cnt_diff, sales_amt_diff limit 100
